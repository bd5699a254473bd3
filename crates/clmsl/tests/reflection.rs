//! `docs/REFLECTION.md` describes exactly the keys that the translations of the cases have, and the words they hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// By object and key: the words that values in lower case take. `None` for a key without such values.
type Keys = BTreeMap<(&'static str, String), BTreeSet<String>>;

/// Keys whose values are words that the page lists.
const ENUMERATED: &[(&str, &str)] = &[
    ("argument", "kind"),
    ("argument", "address_space"),
    ("argument", "access"),
    ("element", "scalar"),
    ("image", "dimension"),
    ("texture", "component"),
    ("hidden argument", "kind"),
    ("conversion", "value"),
];

/// The heading on the page for the objects of a key, by the object it stands in.
fn inner(object: &str, key: &str) -> Option<&'static str> {
    match (object, key) {
        ("document", "kernels") => Some("kernel"),
        ("kernel", "args") => Some("argument"),
        ("kernel", "parts") => Some("kernel"),
        ("kernel", "hidden") => Some("hidden argument"),
        ("argument", "element") => Some("element"),
        ("argument", "image") => Some("image"),
        ("image", "textures") => Some("texture"),
        ("document", "formats") => Some("format"),
        ("format", "pieces") => Some("piece"),
        ("piece", "conversion") => Some("conversion"),
        _ => None,
    }
}

fn collect(object: &'static str, value: &Value, keys: &mut Keys) {
    match value {
        Value::Array(list) => list.iter().for_each(|one| collect(object, one, keys)),
        Value::Object(map) => {
            for (key, value) in map {
                let words = keys.entry((object, key.clone())).or_default();
                if let Some(word) = value.as_str().filter(|_| ENUMERATED.contains(&(object, key))) {
                    words.insert(word.to_owned());
                }
                match inner(object, key) {
                    Some(inner) => collect(inner, value, keys),
                    None => assert!(!value.is_object(), "{object}.{key} is an object without a table on the page"),
                }
            }
        }
        _ => {}
    }
}

fn case_files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of cases") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            case_files(&path, out);
        } else if path.extension().is_some_and(|e| e == "cl") && path.with_extension("msl").exists() {
            out.push(path);
        }
    }
}

fn written(root: &Path) -> Keys {
    let mut files = Vec::new();
    case_files(&root.join("tests/cases"), &mut files);
    let mut keys = Keys::new();
    for file in files {
        let source = fs::read_to_string(&file).expect("a case");
        let flags = source.lines().next().and_then(|line| line.strip_prefix("// options:")).unwrap_or("");
        let build = clmsl::Options::parse_build_options(flags).expect("a case's options");
        let reflection = clmsl::translate("case.cl", &source, &build.options).reflection;
        collect("document", &serde_json::to_value(reflection).expect("it serialises"), &mut keys);
    }
    keys
}

fn described(root: &Path) -> Keys {
    let text = fs::read_to_string(root.join("../../docs/REFLECTION.md")).expect("the page");
    let mut keys = Keys::new();
    let mut object = "";
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            let name = heading.trim_start_matches("The ").trim_start_matches("An ").trim_start_matches("A ");
            let known = [
                "document",
                "kernel",
                "argument",
                "element",
                "image",
                "texture",
                "hidden argument",
                "format",
                "piece",
                "conversion",
            ];
            object = known.into_iter().find(|known| *known == name).expect("a heading of an object");
            continue;
        }
        let Some((key, rest)) = line.strip_prefix("| `").and_then(|row| row.split_once('`')) else { continue };
        let mut words = BTreeSet::new();
        if ENUMERATED.contains(&(object, key)) {
            let quoted = rest.split('`').skip(1).step_by(2);
            let plain = |word: &&str| {
                word.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_')) && !word.starts_with("__")
            };
            words.extend(quoted.filter(plain).map(str::to_owned).filter(|word| word != "const"));
        }
        let fresh = keys.insert((object, key.to_owned()), words).is_none();
        assert!(fresh, "{object}.{key} is described twice");
    }
    keys
}

#[test]
fn the_page_describes_what_is_written() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (written, described) = (written(root), described(root));
    assert!(written.len() > 20, "{written:?}");
    for (place @ (object, key), words) in &written {
        let on_page =
            described.get(place).unwrap_or_else(|| panic!("docs/REFLECTION.md lacks `{key}` of the {object}"));
        let lacking: Vec<_> = words.difference(on_page).collect();
        assert!(lacking.is_empty(), "docs/REFLECTION.md, `{key}` of the {object}: it lacks {lacking:?}");
    }
    let objects: BTreeSet<_> = written.keys().map(|(object, _)| object).collect();
    for (object, key) in described.keys().filter(|(object, _)| objects.contains(object)) {
        assert!(written.contains_key(&(*object, key.clone())), "docs/REFLECTION.md: the {object} has no `{key}`");
    }
}
