//! Reader of a form's fields, which collects what is wrong with them.

use std::str::FromStr;

use crate::challenge::ColorChoice;
use crate::http::params::{Params, is_yes};
use crate::site::ApiError;
use crate::site::error::{INVALID, NOT_A_NUMBER, REQUIRED};

/// A form with the errors found so far.
pub(crate) struct Form<'a> {
    pub params: &'a Params,
    pub errors: Vec<(&'static str, String)>,
}

impl<'a> Form<'a> {
    pub(crate) fn new(params: &'a Params) -> Self {
        Self {
            params,
            errors: Vec::new(),
        }
    }

    pub(crate) fn error(&mut self, field: &'static str, why: &str) {
        self.errors.push((field, why.to_owned()));
    }

    pub(crate) fn number<T: FromStr>(&mut self, field: &'static str) -> Option<T> {
        let parsed = self.params.get(field)?.trim().parse();
        parsed.map_err(|_| self.error(field, NOT_A_NUMBER)).ok()
    }

    pub(crate) fn required<T: FromStr>(&mut self, field: &'static str) -> Option<T> {
        if self.params.get(field).is_none() {
            self.error(field, REQUIRED);
        }
        self.number(field)
    }

    /// A flag that is off by default.
    pub(crate) fn flag(&mut self, field: &'static str) -> bool {
        let text = self.params.get(field).unwrap_or("false");
        if !matches!(text, "false" | "False" | "0" | "off" | "no") && !is_yes(text) {
            self.error(field, INVALID);
        }
        is_yes(text)
    }

    pub(crate) fn color(&mut self) -> ColorChoice {
        let known = ColorChoice::from_key(self.params.get("color").unwrap_or("random"));
        known.unwrap_or_else(|| {
            self.error("color", INVALID);
            ColorChoice::Random
        })
    }

    /// # Errors
    /// Lists all invalid fields.
    pub(crate) fn check(self) -> Result<(), ApiError> {
        match self.errors.is_empty() {
            true => Ok(()),
            false => Err(ApiError::invalid_form(self.errors)),
        }
    }
}
