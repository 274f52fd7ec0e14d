//! Images: whether one is whole, and what it looks like, as a perceptual hash of 64 bits.

use std::io::Cursor;

use image::{DynamicImage, ImageReader, Limits};
use image_hasher::{HashAlg, HasherConfig, ImageHash};

/// Longest side of an image that is decoded.
const MAX_SIDE: u32 = 20_000;
/// Most bytes that decoding may take.
const MAX_ALLOCATION: u64 = 512 << 20;
/// Most bytes that reading a PNG row by row may take.
const DECODER_MEMORY: usize = 16 << 20;
/// Distance of images that have nothing in common: all bits of the hash.
const FARTHEST: u32 = 64;
/// Longest side of an image in a picture for people.
const LARGEST_SHOWN: u32 = 1_200;
/// Grey between two images, in pixels.
const GAP: u32 = 8;
/// Channels of two one-coloured images may differ by this much and still be the same.
const SAME_COLOUR: u8 = 8;

/// Whether this is a PNG that can be read to its end: every row, every checksum, the end mark. It is read row by row, so
/// that what a small file swells to is never held.
pub(super) fn is_whole_png(bytes: &[u8]) -> bool {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_limits(png::Limits {
        bytes: DECODER_MEMORY,
    });
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.read_info().is_ok_and(|mut reader| {
        let info = reader.info();
        let fits = info.width <= MAX_SIDE && info.height <= MAX_SIDE;
        fits && to_the_end(&mut reader).is_ok()
    })
}

fn to_the_end(reader: &mut png::Reader<Cursor<&[u8]>>) -> Result<(), png::DecodingError> {
    while reader.next_row()?.is_some() {}
    reader.finish()
}

fn reader(bytes: &[u8]) -> ImageReader<Cursor<&[u8]>> {
    let mut reader = ImageReader::new(Cursor::new(bytes));
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_ALLOCATION);
    reader.limits(limits);
    reader
}

/// What an image looks like.
#[derive(Debug)]
pub(super) enum Look {
    /// One colour all over, within a little noise.
    Blank([u8; 3]),
    /// The signs of its low frequencies, against their median; and the pixels, since in a smooth image many frequencies are
    /// next to nothing and change their sign for no reason that anybody sees.
    Structured(ImageHash<[u8; 8]>, image::RgbImage),
}

impl Look {
    /// Decodes a PNG or JPEG and looks at it.
    pub(super) fn of(bytes: &[u8]) -> Result<Self, String> {
        let image = reader(bytes)
            .with_guessed_format()
            .map_err(|error| error.to_string())?
            .decode()
            .map_err(|error| error.to_string())?;
        let image = on_white(&image);
        if let Some(colour) = one_colour(&image) {
            return Ok(Self::Blank(colour));
        }
        let hasher = HasherConfig::with_bytes_type::<[u8; 8]>()
            .hash_alg(HashAlg::Median)
            .preproc_dct()
            .hash_size(8, 8)
            .to_hasher();
        Ok(Self::Structured(hasher.hash_image(&image), image))
    }

    /// Bits that differ, of 64. A blank image has no structure to compare: it is like another of its colour, and like
    /// nothing else.
    pub(super) fn distance(&self, other: &Self) -> u32 {
        match (self, other) {
            (Self::Structured(_, one), Self::Structured(_, other)) if look_the_same(one, other) => {
                0
            }
            (Self::Structured(one, _), Self::Structured(other, _)) => one.dist(other),
            (Self::Blank(one), Self::Blank(other)) if near(*one, *other) => 0,
            _ => FARTHEST,
        }
    }
}

/// Two images beside each other as a PNG, the first on the left; larger ones are made smaller. Nothing where one cannot be decoded.
pub(super) fn side_by_side(left: &[u8], right: &[u8]) -> Option<Vec<u8>> {
    let [left, right] = [shown(left)?, shown(right)?];
    let height = left.height().max(right.height());
    let width = left.width() + GAP + right.width();
    let mut both = image::RgbImage::from_pixel(width, height, image::Rgb([128; 3]));
    image::imageops::replace(&mut both, &left, 0, 0);
    let start = i64::from(left.width() + GAP);
    image::imageops::replace(&mut both, &right, start, 0);
    let mut png = Cursor::new(Vec::new());
    both.write_to(&mut png, image::ImageFormat::Png).ok()?;
    Some(png.into_inner())
}

/// An image as it is shown to people, on white and at most so large.
fn shown(bytes: &[u8]) -> Option<image::RgbImage> {
    let image = reader(bytes).with_guessed_format().ok()?.decode().ok()?;
    let fits = image.width() <= LARGEST_SHOWN && image.height() <= LARGEST_SHOWN;
    let image = if fits {
        image
    } else {
        image.thumbnail(LARGEST_SHOWN, LARGEST_SHOWN)
    };
    Some(on_white(&image))
}

/// The image without transparency, as a person would see it on white.
fn on_white(image: &DynamicImage) -> image::RgbImage {
    if !image.color().has_alpha() {
        return image.to_rgb8();
    }
    let rgba = image.to_rgba8();
    image::RgbImage::from_fn(rgba.width(), rgba.height(), |x, y| {
        let [red, green, blue, alpha] = rgba.get_pixel(x, y).0;
        let mixed = |channel: u8| {
            let (channel, alpha) = (u16::from(channel), u16::from(alpha));
            u8::try_from((channel * alpha + 255 * (255 - alpha)) / 255).unwrap_or(u8::MAX)
        };
        image::Rgb([mixed(red), mixed(green), mixed(blue)])
    })
}

fn one_colour(image: &image::RgbImage) -> Option<[u8; 3]> {
    let first = image.pixels().next()?.0;
    image
        .pixels()
        .all(|pixel| near(pixel.0, first))
        .then_some(first)
}

fn look_the_same(one: &image::RgbImage, other: &image::RgbImage) -> bool {
    let mut pixels = one.pixels().zip(other.pixels());
    one.dimensions() == other.dimensions() && pixels.all(|(one, other)| near(one.0, other.0))
}

fn near(one: [u8; 3], other: [u8; 3]) -> bool {
    one.iter()
        .zip(other)
        .all(|(one, other)| one.abs_diff(other) <= SAME_COLOUR)
}
