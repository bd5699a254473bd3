//! `dcmetal translate`: OpenCL C in, Metal Shading Language out.

use crate::cli::Translate;
use crate::failure::Failure;
use crate::files::write_whole;
use crate::source::Language;

pub(crate) fn translate(command: &Translate) -> Result<(), Failure> {
    if command.source.language()? == Language::Msl {
        return Err(Failure::Input(format!("{}: it is Metal Shading Language already", command.source.name())));
    }
    let (msl, translation) = command.source.translate(&command.source.read()?)?;
    if let Some(path) = &command.reflect {
        write_whole(path, |file| {
            serde_json::to_writer_pretty(&mut *file, &translation.reflection).map_err(|error| error.to_string())?;
            writeln!(file).map_err(|error| error.to_string())
        })
        .map_err(Failure::Input)?;
    }
    match &command.output {
        Some(path) => write_whole(path, |file| file.write_all(msl.as_bytes()).map_err(|error| error.to_string())),
        None => crate::print(&msl),
    }
    .map_err(Failure::Input)
}
