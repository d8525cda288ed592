//! All versions and deletes: the envelopes of protocol section 9.3.

use orrery_model::charge;
use orrery_model::ids::Lsn;
use orrery_model::json;
use orrery_model::value::{Object, Value};

use super::{Filled, Reading, position_of, scan_after, with_lsn};
use crate::container::ContainerState;
use crate::error::Error;
use crate::layout::entries::{HistoryEntry, HistoryKind};
use crate::layout::family;

impl Reading<'_> {
    pub(super) fn all_versions(&self, after: Lsn) -> Result<Filled, Error> {
        let mut filled = Filled::at(after);
        let mut scan = scan_after(family::HISTORY, after);
        loop {
            let chunk = self.snapshot.reader().scan(&scan)?;
            for row in &chunk.rows {
                let lsn = position_of(&row.key)?;
                let entry = HistoryEntry::decode(&row.key, &row.value)?;
                if !self.includes(entry.epk) {
                    continue;
                }
                let row = envelope(&entry, lsn, self.state)?;
                if lsn > filled.reached && self.is_full(&filled.page, row.len()) {
                    return Ok(filled);
                }
                filled.reached = lsn;
                filled.page.push(&row);
                filled.charge += charge::read(entry.json.len(), self.cost);
            }
            let Some(resume) = chunk.resume else {
                filled.reached = filled.reached.max(self.snapshot.lsn());
                return Ok(filled);
            };
            scan.resume = Some(resume.to_vec());
        }
    }
}

fn envelope(entry: &HistoryEntry<'_>, lsn: Lsn, state: &ContainerState) -> Result<Vec<u8>, Error> {
    let operation = match entry.kind {
        HistoryKind::Create => "create",
        HistoryKind::Replace => "replace",
        HistoryKind::Delete | HistoryKind::Expire => "delete",
    };
    let gone = operation == "delete";
    let expired = entry.kind == HistoryKind::Expire;
    let image = if gone {
        entry.json.to_vec()
    } else {
        with_lsn(entry.json, lsn)
    };
    let mut text = Vec::with_capacity(image.len() + 300);
    text.extend_from_slice(b"{\"current\":");
    text.extend_from_slice(if gone { b"{}" } else { &image });
    text.extend_from_slice(
        format!(
            ",\"metadata\":{{\"operationType\":\"{operation}\",\"lsn\":{lsn},\"crts\":{},\
             \"previousImageLSN\":{},\"timeToLiveExpired\":{expired}",
            entry.ts, entry.previous
        )
        .as_bytes(),
    );
    if gone {
        let item = json::parse(entry.json).map_err(|_| Error::Damaged("history entry"))?;
        text.extend_from_slice(b",\"id\":");
        json::write(item.member("id"), &mut text);
        text.extend_from_slice(b",\"partitionKey\":");
        json::write(&key_of(&item, state), &mut text);
        text.extend_from_slice(b"},\"previous\":");
        text.extend_from_slice(&image);
        text.push(b'}');
    } else {
        text.extend_from_slice(b"}}");
    }
    Ok(text)
}

/// Name to value; the name of a nested path is its last segment's.
fn key_of<'v>(item: &'v Value<'_>, state: &'v ContainerState) -> Value<'v> {
    let paths = state.key_definition().item_paths();
    let mut key = Object::new();
    for (path, names) in paths.iter().zip(state.key_segments()) {
        if let Some(name) = names.last() {
            key.insert(name.as_str(), path.evaluate(item).borrowed());
        }
    }
    Value::Object(key)
}
