//! [`Topology`]: how devices are connected to the machine and to each other.

use std::fmt;

use crate::Accelerator;

/// How a device is connected to the machine, Metal's `MTLDeviceLocation`, with the number of the slot or port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Location {
    /// It is a part of the machine.
    BuiltIn,
    /// In a slot.
    Slot(u64),
    /// Outside, at a port: it can be unplugged.
    External(u64),
    /// Metal does not tell.
    Unspecified,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::BuiltIn => f.pad("built in"),
            Location::Slot(number) => f.pad(&format!("slot {number}")),
            Location::External(number) => f.pad(&format!("external {number}")),
            Location::Unspecified => f.pad("unspecified"),
        }
    }
}

/// Devices that are connected to each other beside the machine's bus: each can copy from the private memory of the others.
/// <https://developer.apple.com/documentation/metal/mtldevice/peergroupid>
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerGroup {
    /// The same for all devices of the group.
    pub id: u64,
    /// Of this device in the group, from 0.
    pub index: u32,
    /// Devices in the group.
    pub count: u32,
}

/// A device's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The device's name.
    pub name: String,
    /// [`Accelerator::registry_id`].
    pub registry_id: u64,
    /// Host and device share one memory.
    pub unified_memory: bool,
    /// How it is connected.
    pub location: Location,
    /// Bytes a second at which memory of the host's gets to it at most, where Metal tells.
    pub max_transfer_rate: Option<u64>,
    /// Its peer group, if it is in one.
    pub peer_group: Option<PeerGroup>,
}

/// Where devices are. It prints as a table.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// use dcmetal::multi::Topology;
/// let devices = dcmetal::Accelerator::all()?;
/// let topology = Topology::of(&devices);
/// assert_eq!(topology.devices.len(), devices.len());
/// assert!(!topology.are_peers(0, 0));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// In the order in which they were given.
    pub devices: Vec<Position>,
}

impl Topology {
    /// Asks each device.
    pub fn of<'a>(devices: impl IntoIterator<Item = &'a Accelerator>) -> Topology {
        Topology { devices: devices.into_iter().map(Position::of).collect() }
    }

    /// Whether two devices are different ones of a peer group.
    ///
    /// # Panics
    /// When a number is none of a device.
    pub fn are_peers(&self, one: usize, other: usize) -> bool {
        self.devices[one].is_peer_of(&self.devices[other])
    }
}

impl Position {
    pub(super) fn of(accelerator: &Accelerator) -> Position {
        let device = accelerator.device();
        Position {
            name: accelerator.name().to_owned(),
            registry_id: accelerator.registry_id(),
            unified_memory: accelerator.limits().unified_memory,
            location: device.location(),
            max_transfer_rate: Some(device.max_transfer_rate()).filter(|rate| *rate > 0),
            peer_group: device.peer_group(),
        }
    }

    pub(super) fn is_peer_of(&self, other: &Position) -> bool {
        let group = |position: &Position| position.peer_group.map(|group| group.id);
        self.registry_id != other.registry_id && group(self).is_some() && group(self) == group(other)
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>3}  {:<12}  {:<8}  {:>12}  {:>10}  name", "", "location", "memory", "from host", "peers")?;
        for (number, device) in self.devices.iter().enumerate() {
            let memory = if device.unified_memory { "unified" } else { "own" };
            let rate = device.max_transfer_rate.map_or("-".to_owned(), |rate| format!("{:.1} GB/s", rate as f64 / 1e9));
            let peers = device.peer_group.map_or("-".to_owned(), |group| format!("{}: {}", group.id, group.count));
            writeln!(f, "{number:>3}  {:<12}  {memory:<8}  {rate:>12}  {peers:>10}  {}", device.location, device.name)?;
        }
        Ok(())
    }
}
