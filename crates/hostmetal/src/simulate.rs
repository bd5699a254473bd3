//! The devices that the environment asks for: how many, and how each differs from the machine's CPU.
//!
//! ```text
//! HOSTMETAL_DEVICES=3
//! HOSTMETAL_DEVICE_1=memory=256M,threadgroup_memory=16K,location=external
//! HOSTMETAL_DEVICE_2=family=apple3,max_threads=512,name=small
//! ```
//!
//! Devices are numbered from 0, as in MTLCopyAllDevices. `MTL_DEBUG_LAYER`, Apple's own variable, is read here too: 0 turns validation off
//! (MetalValidation(1)), and `HOSTMETAL_FAULTS` (faults.rs). Text that means nothing is an error that names it: a program that
//! was to be tried on a small device shall not run on a large one instead.

use crate::faults::{self, Rule};

/// Families of GPUs that a device can claim (MTLGPUFamily).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// An Apple GPU of this number, 2 to 7.
    Apple(u8),
    /// A GPU of AMD or Intel in a Mac.
    Mac2,
}

/// MTLDeviceLocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    BuiltIn,
    Slot,
    External,
}

/// What a device is told to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Instead of the processor's name.
    pub(crate) name: Option<String>,
    /// Bytes of its account.
    pub(crate) memory: u64,
    /// recommendedMaxWorkingSetSize.
    pub(crate) working_set: u64,
    pub(crate) max_buffer: u64,
    pub(crate) threadgroup_memory: u64,
    /// Threads of a threadgroup, in all and along each axis.
    pub(crate) max_threads: u32,
    pub(crate) family: Family,
    pub(crate) location: Location,
    pub(crate) low_power: bool,
    /// 0 for none.
    pub(crate) peer_group: u64,
    /// Whether what is harmless on a GPU, but against Metal's rules, is misuse.
    pub(crate) validation: bool,
    /// It is removed when so many command buffers were committed and the next one begins to run.
    pub(crate) removed_after: Option<u64>,
}

/// What a device is when nothing is said, and what it cannot exceed.
#[derive(Clone, Copy)]
pub(crate) struct Machine {
    /// Bytes of physical memory.
    pub(crate) ram: u64,
    pub(crate) page: u64,
    pub(crate) threadgroup_memory: u64,
    pub(crate) max_threads: u32,
}

const MOST_DEVICES: u64 = 16;

/// The devices that these variables ask for and what shall fail on them, or what is wrong with one of the variables.
pub(crate) fn settings(
    variables: impl IntoIterator<Item = (String, String)>,
    machine: Machine,
) -> Result<(Vec<Settings>, Vec<Rule>), String> {
    let (mut count, mut memory, mut validation, mut own, mut rules) = (1, None, true, Vec::new(), None);
    for (variable, text) in variables {
        let wrong = |why: String| format!("{variable}={text:?}: {why}");
        if variable == "HOSTMETAL_DEVICES" {
            let number = text.trim().parse().ok().filter(|number| (1..=MOST_DEVICES).contains(number));
            count = number.ok_or_else(|| wrong(format!("expected a number from 1 to {MOST_DEVICES}")))?;
        } else if variable == "HOSTMETAL_MEMORY" {
            memory = Some(bytes(text.trim()).map_err(wrong)?);
        } else if variable == "MTL_DEBUG_LAYER" {
            validation = text.trim() != "0";
        } else if variable == "HOSTMETAL_FAULTS" {
            rules = Some(text);
        } else if let Some(number) = variable.strip_prefix("HOSTMETAL_DEVICE_") {
            let number =
                number.parse::<u64>().map_err(|_| wrong("the variable's name must end in a number".to_owned()))?;
            own.push((number, variable, text));
        }
    }
    let default = memory.unwrap_or(machine.ram / 2 / count);
    let mut all: Vec<Settings> =
        (0..count).map(|_| Settings { validation, ..Settings::whole(default, machine) }).collect();
    for (number, variable, text) in own {
        let wrong = |why: String| format!("{variable}={text:?}: {why}");
        let settings = all.get_mut(number as usize).filter(|_| number < count);
        let settings =
            settings.ok_or_else(|| wrong(format!("there is no such device: they are 0 to {}", count - 1)))?;
        settings.change(&text, machine).map_err(wrong)?;
    }
    let text = rules.unwrap_or_default();
    let wrong = |why: String| format!("HOSTMETAL_FAULTS={text:?}: {why}");
    let mut rules = faults::parse(&text, all.len()).map_err(wrong)?;
    let removals = all.iter().enumerate().filter_map(|(device, settings)| Some((device, settings.removed_after?)));
    rules.extend(removals.map(|(device, after)| faults::removal(device, after)));
    Ok((all, rules))
}

impl Settings {
    /// The machine's limits, and this much memory.
    fn whole(memory: u64, machine: Machine) -> Settings {
        Settings {
            name: None,
            memory,
            working_set: memory,
            max_buffer: whole_pages(memory.min(machine.ram / 2), machine),
            threadgroup_memory: machine.threadgroup_memory,
            max_threads: machine.max_threads,
            family: Family::Apple(7),
            location: Location::BuiltIn,
            low_power: false,
            peer_group: 0,
            validation: true,
            removed_after: None,
        }
    }

    /// Reads `key=value,key=value`.
    fn change(&mut self, text: &str, machine: Machine) -> Result<(), String> {
        let (mut working_set, mut max_buffer) = (None, None);
        let mut seen = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').ok_or_else(|| format!("`{part}` is not key=value"))?;
            let (key, value) = (key.trim(), value.trim());
            if seen.contains(&key) {
                return Err(format!("{key} is given twice"));
            }
            seen.push(key);
            let of = |why: String| format!("{key}: {why}");
            match key {
                "name" => self.name = Some(value.to_owned()),
                "memory" => self.memory = bytes(value).map_err(of)?,
                "working_set" => working_set = Some(bytes(value).map_err(of)?),
                "max_buffer" => max_buffer = Some(bytes(value).map_err(of)?),
                "threadgroup_memory" => {
                    let most = machine.threadgroup_memory;
                    let given = bytes(value).map_err(of)?;
                    if given % 16 != 0 || given == 0 || given > most {
                        return Err(of(format!("expected a multiple of 16 from 16 to {most}")));
                    }
                    self.threadgroup_memory = given;
                }
                "max_threads" => {
                    let most = machine.max_threads;
                    let given = value.parse().ok().filter(|n: &u32| n.is_multiple_of(32) && *n > 0 && *n <= most);
                    self.max_threads =
                        given.ok_or_else(|| of(format!("expected a multiple of 32 from 32 to {most}")))?;
                }
                "family" => {
                    let apple =
                        value.strip_prefix("apple").and_then(|n| n.parse().ok()).filter(|n| (2..=7).contains(n));
                    self.family = match (value, apple) {
                        ("mac2", _) => Family::Mac2,
                        (_, Some(number)) => Family::Apple(number),
                        _ => return Err(of("expected apple2 to apple7, or mac2".to_owned())),
                    };
                }
                "location" => {
                    self.location = match value {
                        "built-in" => Location::BuiltIn,
                        "slot" => Location::Slot,
                        "external" => Location::External,
                        _ => return Err(of("expected built-in, slot or external".to_owned())),
                    };
                }
                "low_power" => {
                    self.low_power = match value {
                        "yes" => true,
                        "no" => false,
                        _ => return Err(of("expected yes or no".to_owned())),
                    };
                }
                "peer_group" => {
                    let number = value.parse().ok().filter(|number| *number > 0);
                    self.peer_group = number.ok_or_else(|| of("expected a number from 1".to_owned()))?;
                }
                "removed_after" => {
                    let number = value.parse().map_err(|_| of("expected a number of command buffers".to_owned()))?;
                    self.removed_after = Some(number);
                }
                _ => return Err(format!("unknown key `{key}`")),
            }
        }
        let within = |key, given: Option<u64>, default: u64| match given {
            Some(given) if given > self.memory => Err(format!("{key}: more than the device's memory")),
            given => Ok(given.unwrap_or(default)),
        };
        self.working_set = within("working_set", working_set, self.memory)?;
        let most = self.memory.min(machine.ram / 2);
        self.max_buffer = whole_pages(within("max_buffer", max_buffer, most)?, machine);
        Ok(())
    }
}

fn whole_pages(bytes: u64, machine: Machine) -> u64 {
    bytes / machine.page * machine.page
}

/// A number of bytes, perhaps with K, M or G (of 1024, its square and its cube).
fn bytes(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 1 << 10),
        Some(b'M') => (&text[..text.len() - 1], 1 << 20),
        Some(b'G') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    number
        .filter(|&bytes| bytes > 0)
        .ok_or_else(|| "expected a number of bytes, such as 4096, 64K, 256M or 2G".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Machine = Machine { ram: 64 << 30, page: 4096, threadgroup_memory: 32_768, max_threads: 1024 };

    fn read(variables: &[(&str, &str)]) -> Result<Vec<Settings>, String> {
        let variables = variables.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Ok(settings(variables, MACHINE)?.0)
    }

    #[test]
    fn memory_is_shared_out_unless_it_is_given() {
        let memory = |variables: &[(&str, &str)]| -> Vec<u64> {
            read(variables).expect("right text").iter().map(|device| device.memory).collect()
        };
        assert_eq!(memory(&[]), [32 << 30]);
        assert_eq!(memory(&[("PATH", "x"), ("HOSTMETAL_DEVICES", "4")]), [8 << 30; 4]);
        assert_eq!(memory(&[("HOSTMETAL_MEMORY", "1G"), ("HOSTMETAL_DEVICES", "2")]), [1 << 30; 2]);
        assert_eq!(
            memory(&[("HOSTMETAL_DEVICE_1", "memory=3M"), ("HOSTMETAL_DEVICES", " 2 "), ("HOSTMETAL_MEMORY", "70000")]),
            [70_000, 3 << 20]
        );
    }

    #[test]
    fn every_key_changes_its_own_setting() {
        let whole = read(&[]).expect("right text").remove(0);
        let changed = |text| read(&[("HOSTMETAL_DEVICE_0", text)]).expect(text).remove(0);
        assert_eq!(changed(""), whole);
        assert_eq!(changed("name=small one"), Settings { name: Some("small one".to_owned()), ..whole.clone() });
        let small = Settings { memory: 65_537, working_set: 65_537, max_buffer: 65_536, ..whole.clone() };
        assert_eq!(changed("memory=65537"), small);
        assert_eq!(changed("working_set=1M"), Settings { working_set: 1 << 20, ..whole.clone() });
        assert_eq!(changed("max_buffer=10000"), Settings { max_buffer: 8192, ..whole.clone() });
        assert_eq!(changed("threadgroup_memory=16K"), Settings { threadgroup_memory: 16_384, ..whole.clone() });
        assert_eq!(changed("max_threads=256"), Settings { max_threads: 256, ..whole.clone() });
        assert_eq!(changed("family=apple4"), Settings { family: Family::Apple(4), ..whole.clone() });
        assert_eq!(changed("family=mac2"), Settings { family: Family::Mac2, ..whole.clone() });
        assert_eq!(changed("location=slot"), Settings { location: Location::Slot, ..whole.clone() });
        assert_eq!(changed("low_power=yes"), Settings { low_power: true, ..whole.clone() });
        assert_eq!(changed("peer_group=7"), Settings { peer_group: 7, ..whole.clone() });
        assert_eq!(changed("removed_after=3"), Settings { removed_after: Some(3), ..whole.clone() });
        let several = Settings { max_threads: 32, location: Location::External, ..whole };
        assert_eq!(changed(" max_threads = 32 , location = external "), several);
    }

    /// MetalValidation(1): "Any value other than 0 will enable API validation." Ours is on unless it is turned off.
    #[test]
    fn validation_is_turned_off_by_nothing_but_0() {
        for (text, expected) in [("0", false), (" 0 ", false), ("1", true), ("", true), ("no", true)] {
            let all = read(&[("MTL_DEBUG_LAYER", text), ("HOSTMETAL_DEVICES", "2")]).expect("right text");
            assert_eq!(all.iter().map(|device| device.validation).collect::<Vec<_>>(), [expected; 2], "{text:?}");
        }
        assert!(read(&[]).expect("right text")[0].validation);
    }

    #[test]
    fn wrong_text_is_named() {
        for (variable, text, why) in [
            ("HOSTMETAL_DEVICES", "0", "from 1 to 16"),
            ("HOSTMETAL_DEVICES", "17", "from 1 to 16"),
            ("HOSTMETAL_DEVICES", "two", "from 1 to 16"),
            ("HOSTMETAL_MEMORY", "", "number of bytes"),
            ("HOSTMETAL_MEMORY", "0", "number of bytes"),
            ("HOSTMETAL_MEMORY", "-1", "number of bytes"),
            ("HOSTMETAL_MEMORY", "99999999999G", "number of bytes"),
            ("HOSTMETAL_DEVICE_1", "", "no such device: they are 0 to 0"),
            ("HOSTMETAL_DEVICE_18446744073709551616", "", "end in a number"),
            ("HOSTMETAL_DEVICE_", "", "end in a number"),
            ("HOSTMETAL_DEVICE_0", "memory", "`memory` is not key=value"),
            ("HOSTMETAL_DEVICE_0", "colour=red", "unknown key `colour`"),
            ("HOSTMETAL_DEVICE_0", "memory=1M,memory=2M", "memory is given twice"),
            ("HOSTMETAL_DEVICE_0", "memory=1T", "memory: expected a number of bytes"),
            ("HOSTMETAL_DEVICE_0", "memory=1M,working_set=2M", "working_set: more than"),
            ("HOSTMETAL_DEVICE_0", "max_buffer=2M,memory=1M", "max_buffer: more than"),
            ("HOSTMETAL_DEVICE_0", "threadgroup_memory=40", "threadgroup_memory: expected a multiple of 16"),
            ("HOSTMETAL_DEVICE_0", "threadgroup_memory=64K", "from 16 to 32768"),
            ("HOSTMETAL_DEVICE_0", "max_threads=2048", "from 32 to 1024"),
            ("HOSTMETAL_DEVICE_0", "max_threads=33", "max_threads: expected a multiple of 32"),
            ("HOSTMETAL_DEVICE_0", "family=apple8", "family: expected apple2 to apple7"),
            ("HOSTMETAL_DEVICE_0", "location=moon", "location: expected built-in"),
            ("HOSTMETAL_DEVICE_0", "low_power=1", "low_power: expected yes or no"),
            ("HOSTMETAL_DEVICE_0", "peer_group=0", "peer_group: expected a number from 1"),
            ("HOSTMETAL_FAULTS", "buffer:device=1", "`buffer:device=1`: device: there is no device 1: they are 0 to 0"),
            ("HOSTMETAL_DEVICE_0", "removed_after=-1", "removed_after: expected a number of command buffers"),
        ] {
            let error = read(&[(variable, text)]).expect_err(text);
            assert!(error.starts_with(&format!("{variable}={text:?}: ")) && error.contains(why), "{error}");
        }
    }
}
