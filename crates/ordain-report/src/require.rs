//! What a check must reach, beside finding nothing, to count as passed.

use crate::kind::{Sight, Verdict};
use crate::run::{Estimate, Run, percent};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// What a check must reach to count as passed. Written as `verified` or `share=90%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Require {
    /// The verdict `verified`.
    Verified,
    /// At least this share of all classes explored, from 0 to 1, by the best estimate.
    Share(f64),
}

impl Require {
    /// Why a check that came to this has not reached it; `None` if it has. A finding needs no other reason to fail.
    pub fn shortfall(self, verdict: Verdict, sight: Sight, estimate: Option<&Estimate>) -> Option<String> {
        let reached = match (verdict, self) {
            (Verdict::Finding | Verdict::Verified, _) => return None,
            (Verdict::NoFinding, Self::Verified) => "the verdict is `no finding`".to_owned(),
            (Verdict::NoFinding, Self::Share(_)) if sight != Sight::Whole => {
                "not all that threads do was visible, so nobody knows the share".to_owned()
            }
            (Verdict::NoFinding, Self::Share(least)) => match estimate {
                Some(estimate) if 10f64.powf(estimate.share().0) >= least => return None,
                Some(estimate) => format!("{} was explored", estimate.in_words("classes")),
                None => "nothing is known of the share that was explored".to_owned(),
            },
        };
        Some(format!("`{self}` was required, but {reached}"))
    }

    /// Why a run counts as failed although nothing was found: it has not reached what is required, if anything is, or it saw too little of
    /// the program for anything that it says to be worth something.
    pub fn unmet(require: Option<Self>, run: &Run) -> Option<String> {
        let blind = run.verdict == Verdict::NoFinding && run.sight == Sight::Nothing;
        let short = require.and_then(|require| require.shortfall(run.verdict, run.sight, run.estimate.as_ref()));
        short.or_else(|| {
            blind.then(|| "almost nothing of what threads do was visible, so nothing was checked".to_owned())
        })
    }
}

impl fmt::Display for Require {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verified => f.write_str("verified"),
            Self::Share(share) => write!(f, "share={}%", percent(*share)),
        }
    }
}

impl FromStr for Require {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write `verified`, or a share of the classes such as `share=90%`".to_owned();
        if text == "verified" {
            return Ok(Self::Verified);
        }
        let number = text.strip_prefix("share=").and_then(|share| share.strip_suffix('%')).ok_or_else(wrong)?;
        let percent: f64 = number.trim().parse().map_err(|_| wrong())?;
        match percent > 0.0 && percent <= 100.0 {
            true => Ok(Self::Share(percent / 100.0)),
            false => Err("a share is more than 0 % and at most 100 %".to_owned()),
        }
    }
}

impl Serialize for Require {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Require {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(|reason| serde::de::Error::custom(format!("`{text}`: {reason}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_read_as_they_are_written() {
        for text in ["verified", "share=90%", "share=100%", "share=0.50%"] {
            assert_eq!(text.parse::<Require>().map(|require| require.to_string()).as_deref(), Ok(text));
        }
        for wrong in ["", "all", "90%", "share=90", "share=0%", "share=101%", "share=-1%", "share=NaN%", "share=x%"] {
            assert!(wrong.parse::<Require>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_missing_is_told() {
        let estimate = |done| Estimate::from_ln(1000f64.ln(), 1000f64.ln(), 1000f64.ln(), done);
        let short = |require: Require, verdict, sight, done| require.shortfall(verdict, sight, Some(&estimate(done)));
        let share = Require::Share(0.9);
        for (verdict, sight, done, [verified, of_share]) in [
            (Verdict::Verified, Sight::Whole, 1000, [true, true]),
            (Verdict::NoFinding, Sight::Whole, 950, [false, true]),
            (Verdict::NoFinding, Sight::Whole, 800, [false, false]),
            (Verdict::NoFinding, Sight::Part, 1000, [false, false]),
            (Verdict::NoFinding, Sight::Nothing, 1000, [false, false]),
            (Verdict::Finding, Sight::Whole, 1, [true, true]),
        ] {
            let reached = [Require::Verified, share].map(|require| short(require, verdict, sight, done).is_none());
            assert_eq!(reached, [verified, of_share], "{verdict:?} {sight:?} {done}");
        }
        assert!(share.shortfall(Verdict::NoFinding, Sight::Whole, None).is_some());
        assert_eq!(
            short(share, Verdict::NoFinding, Sight::Whole, 800).as_deref(),
            Some("`share=90%` was required, but about 80 % of an estimated 1000 classes was explored")
        );
    }
}
