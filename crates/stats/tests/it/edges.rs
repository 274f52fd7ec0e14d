//! What has no spread, too few trials or nothing at all has a defined answer.
