//! Holds the messages of this crate against the deployed protocol, which `wire.tsv` lists field by field.

use std::collections::BTreeSet;

use prost::Message;
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet, field_descriptor_proto as field};

const TABLE: &str = include_str!("wire.tsv");
/// Packages that others speak, too. `site` is this product's own.
const DEPLOYED: [&str; 3] = ["forge", "common", "health"];

#[test]
fn every_field_value_and_rpc_is_the_deployed_one() {
    let ours = lines_of(&FileDescriptorSet::decode(proto::DESCRIPTORS).unwrap());
    let spoken: BTreeSet<String> = rows().filter(|row| row[0] != "absent").map(|row| row.join(" ")).collect();
    let missing: Vec<_> = spoken.difference(&ours).collect();
    let unknown: Vec<_> = ours.difference(&spoken).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "deployed but not ours: {missing:#?}\nours but not deployed: {unknown:#?}"
    );
}

#[test]
fn fields_left_out_keep_their_numbers_and_names_free() {
    let set = FileDescriptorSet::decode(proto::DESCRIPTORS).unwrap();
    for row in rows().filter(|row| row[0] == "absent") {
        let (message, number, name) = (row[1], row[2].parse::<i32>().unwrap(), row[3]);
        let (_, found) =
            messages(&set).find(|(path, _)| path == message).unwrap_or_else(|| panic!("no message {message}"));
        for field in &found.field {
            assert!(
                field.number() != number && field.name() != name,
                "{message}.{} takes the place of {name}",
                field.name()
            );
        }
    }
}

fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    TABLE.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(|line| line.split('\t').collect())
}

fn messages(set: &FileDescriptorSet) -> impl Iterator<Item = (String, &DescriptorProto)> {
    set.file.iter().filter(|file| DEPLOYED.contains(&file.package())).flat_map(|file| {
        file.message_type.iter().map(move |message| (format!("{}.{}", file.package(), message.name()), message))
    })
}

/// The descriptors in the table's notation, one line a fact.
fn lines_of(set: &FileDescriptorSet) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for (path, message) in messages(set) {
        assert!(message.nested_type.is_empty() && message.enum_type.is_empty(), "{path} nests types");
        lines.insert(format!("message {path}"));
        if !message.reserved_range.is_empty() {
            let numbers = message.reserved_range.iter().flat_map(|range| range.start()..range.end());
            lines.insert(format!("reserved {path} {}", numbers.map(|n| n.to_string()).collect::<Vec<_>>().join(" ")));
        }
        for field in &message.field {
            let (kind, label) = (type_name(field), label(message, field));
            lines.insert(format!("field {path} {} {} {kind} {label}", field.number(), field.name()));
        }
    }
    for file in set.file.iter().filter(|file| DEPLOYED.contains(&file.package())) {
        let package = file.package();
        for (kind, value) in file.enum_type.iter().flat_map(|kind| kind.value.iter().map(move |value| (kind, value))) {
            lines.insert(format!("value {package}.{} {} {}", kind.name(), value.number(), value.name()));
        }
        for (service, method) in
            file.service.iter().flat_map(|service| service.method.iter().map(move |m| (service, m)))
        {
            assert!(!method.client_streaming() && !method.server_streaming(), "{} streams", method.name());
            let (input, output) = (method.input_type(), method.output_type());
            lines.insert(format!(
                "rpc {package}.{} {} {} {}",
                service.name(),
                method.name(),
                input.trim_start_matches('.'),
                output.trim_start_matches('.')
            ));
        }
    }
    lines
}

fn type_name(field: &FieldDescriptorProto) -> String {
    match field.r#type() {
        field::Type::Message | field::Type::Enum => field.type_name().trim_start_matches('.').to_owned(),
        scalar => scalar.as_str_name().trim_start_matches("TYPE_").to_lowercase(),
    }
}

fn label(message: &DescriptorProto, field: &FieldDescriptorProto) -> String {
    match field.oneof_index {
        _ if field.label() == field::Label::Repeated => "repeated".into(),
        _ if field.proto3_optional() => "optional".into(),
        Some(index) => {
            format!("oneof {}", message.oneof_decl[index as usize].name())
        }
        None if field.r#type() == field::Type::Message => "message".into(),
        None => "implicit".into(),
    }
}
