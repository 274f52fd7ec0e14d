//! What judges may cost: a call is made only where the most that it can cost is still there.

use std::sync::{Mutex, PoisonError};

/// What may be spent, and what is.
#[derive(Debug)]
pub(super) struct Purse {
    most: Option<f64>,
    /// What was spent, and what calls under way may yet cost.
    gone: Mutex<f64>,
}

impl Purse {
    pub(super) fn new(most: Option<f64>) -> Self {
        Self {
            most,
            gone: Mutex::new(0.0),
        }
    }

    /// Sets aside the most that a call can cost.
    ///
    /// # Errors
    /// It is not there, or nobody knows how much that is.
    pub(super) fn set_aside(&self, worst: Option<f64>) -> Result<Aside<'_>, String> {
        let Some(most) = self.most else {
            return Ok(Aside {
                purse: self,
                amount: 0.0,
            });
        };
        let Some(worst) = worst else {
            return Err("what a call can cost is not known".to_owned());
        };
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        if *gone + worst > most {
            return Err(format!(
                "{gone:.4} of max_cost_usd {most} are spent, and a call may cost {worst:.4}"
            ));
        }
        *gone += worst;
        Ok(Aside {
            purse: self,
            amount: worst,
        })
    }
}

/// Money set aside for one call. Where its cost is never told, all of it counts as spent.
#[derive(Debug)]
pub(super) struct Aside<'a> {
    purse: &'a Purse,
    amount: f64,
}

impl Aside<'_> {
    /// Gives back what the call did not cost.
    pub(super) fn spent(self, usd: Option<f64>) {
        let spent = usd.unwrap_or(self.amount);
        let mut gone = self
            .purse
            .gone
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *gone += spent - self.amount;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_could_break_the_budget_is_not_made() {
        let purse = Purse::new(Some(1.0));
        let first = purse.set_aside(Some(0.6)).expect("enough");
        assert!(purse.set_aside(Some(0.6)).is_err(), "one is under way");
        first.spent(Some(0.1));
        let second = purse.set_aside(Some(0.6)).expect("enough again");
        second.spent(None);
        let why = purse.set_aside(Some(0.6)).expect_err("too little");
        assert!(why.contains("0.7000 of max_cost_usd 1"), "{why}");
        assert!(purse.set_aside(None).is_err(), "unknown is not free");
    }

    #[test]
    fn without_a_budget_nothing_is_refused() {
        let purse = Purse::new(None);
        for _ in 0..3 {
            purse.set_aside(None).expect("no limit").spent(Some(1e9));
        }
    }
}
