//! The headers of an answer with one item, filled in like a form.
//!
//! Point reads are the most frequent requests, and their answers have two dozen headers, always
//! the same ones. Putting each into a map means hashing its name; a copy of a map that has them
//! all already, with the values set in their places, costs a third of that.

use http::header::{CONTENT_LENGTH, CONTENT_LOCATION, CONTENT_TYPE, ETAG};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::session::Positions;
use super::{add_constants, names};

/// Number of headers that change from answer to answer.
const CHANGING: usize = 15;
/// Room for those, the constants and the owner's paths.
const USUAL_HEADERS: usize = 40;

/// What changes from answer to answer.
pub(super) struct Changing {
    pub content_length: Option<HeaderValue>,
    pub content_type: Option<HeaderValue>,
    pub content_location: Option<HeaderValue>,
    pub etag: Option<HeaderValue>,
    pub activity: HeaderValue,
    pub charge: HeaderValue,
    pub positions: Option<Positions>,
}

impl Changing {
    /// Whether all are there, as in the answer of a point read.
    pub fn is_complete(&self) -> bool {
        let positions = self.positions.as_ref();
        self.content_length.is_some()
            && self.content_type.is_some()
            && self.content_location.is_some()
            && self.etag.is_some()
            && positions.is_some_and(|positions| positions.item_lsn.is_some())
    }

    /// As headers in a map of their own.
    pub fn into_map(self) -> HeaderMap {
        // Every response carries about thirty headers: one allocation for them.
        let mut headers = HeaderMap::with_capacity(USUAL_HEADERS);
        for (name, value) in NAMES.into_iter().zip(self.into_values()) {
            if let Some(value) = value {
                headers.insert(name, value);
            }
        }
        headers
    }

    /// In the order of [`NAMES`].
    fn into_values(self) -> [Option<HeaderValue>; CHANGING] {
        let (token, range, lsn, item_lsn) = match self.positions {
            Some(Positions {
                token,
                range,
                lsn,
                item_lsn,
            }) => (Some(token), Some(range), Some(lsn), item_lsn),
            None => (None, None, None, None),
        };
        [
            self.content_length,
            self.content_type,
            self.content_location,
            self.etag,
            Some(self.activity),
            Some(self.charge),
            token,
            range,
            lsn.clone(),
            lsn.clone(),
            lsn.clone(),
            lsn.clone(),
            lsn,
            item_lsn.clone(),
            item_lsn,
        ]
    }
}

const NAMES: [HeaderName; CHANGING] = [
    CONTENT_LENGTH,
    CONTENT_TYPE,
    CONTENT_LOCATION,
    ETAG,
    names::ACTIVITY_ID,
    names::REQUEST_CHARGE,
    names::SESSION_TOKEN,
    names::PARTITION_KEY_RANGE_ID,
    names::LSN,
    names::LOCAL_LSN,
    names::QUORUM_ACKED_LSN,
    names::QUORUM_ACKED_LOCAL_LSN,
    names::GLOBAL_COMMITTED_LSN,
    names::ITEM_LSN,
    names::ITEM_LOCAL_LSN,
];

/// The form for the items of one container.
#[derive(Debug)]
pub(super) struct ItemForm {
    blank: HeaderMap,
    /// For each header of the map, in its order, whose value it gets: a place in [`NAMES`], or
    /// one beyond for those that stay.
    fields: Vec<usize>,
}

impl ItemForm {
    /// A form with the container's two paths.
    pub fn new(alt_path: HeaderValue, rid: HeaderValue) -> Self {
        let mut blank = HeaderMap::with_capacity(USUAL_HEADERS);
        for name in NAMES {
            blank.insert(name, HeaderValue::from_static(""));
        }
        blank.insert(names::ALT_CONTENT_PATH, alt_path);
        blank.insert(names::CONTENT_PATH, rid);
        add_constants(&mut blank);
        let place = |name| NAMES.iter().position(|changing| changing == name);
        let fields = blank
            .keys()
            .map(|name| place(name).unwrap_or(CHANGING))
            .collect();
        Self { blank, fields }
    }

    /// A copy with all values, which must be there, filled in.
    pub fn filled(&self, changing: Changing) -> HeaderMap {
        let mut values = changing.into_values();
        let mut copy = self.blank.clone();
        for (value, &field) in copy.values_mut().zip(&self.fields) {
            if let Some(own) = values.get_mut(field).and_then(Option::take) {
                *value = own;
            }
        }
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changing() -> Changing {
        let text = HeaderValue::from_static;
        Changing {
            content_length: Some(text("length")),
            content_type: Some(text("type")),
            content_location: Some(text("location")),
            etag: Some(text("etag")),
            activity: text("activity"),
            charge: text("charge"),
            positions: Some(Positions {
                token: text("token"),
                range: text("range"),
                lsn: text("lsn"),
                item_lsn: Some(text("item")),
            }),
        }
    }

    #[test]
    fn a_filled_form_is_what_would_have_been_put_together() {
        let text = HeaderValue::from_static;
        let form = ItemForm::new(text("dbs/a/colls/b"), text("rid"));
        assert!(changing().is_complete());
        let mut expected = changing().into_map();
        assert_eq!(expected.len(), CHANGING);
        assert_eq!(expected.get(names::LSN), Some(&text("lsn")));
        assert_eq!(expected.get(names::ITEM_LOCAL_LSN), Some(&text("item")));
        add_constants(&mut expected);
        expected.insert(names::ALT_CONTENT_PATH, text("dbs/a/colls/b"));
        expected.insert(names::CONTENT_PATH, text("rid"));
        assert_eq!(form.filled(changing()), expected);
    }

    #[test]
    fn what_is_missing_has_no_header() {
        let bare = Changing {
            etag: None,
            positions: None,
            ..changing()
        };
        assert!(!bare.is_complete());
        let headers = bare.into_map();
        assert_eq!(headers.len(), 5);
        assert!(!headers.contains_key(ETAG) && !headers.contains_key(names::LSN));
    }
}
