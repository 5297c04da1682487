//! What ENGINE = Kafka asks of its arguments and settings, which are two ways to say the same.

use super::engine::New;
use chalet_base::{Result, bail, ensure, err};
use chalet_syntax::ast::{self, ExprKind, Literal};

/// What must be said, in the order in which arguments say it.
const REQUIRED: [&str; 4] = ["kafka_broker_list", "kafka_topic_list", "kafka_group_name", "kafka_format"];

const NOT_ZERO: [&str; 2] = ["kafka_max_block_size", "kafka_poll_max_batch_size"];

/// Fails where something is missing or out of range.
pub(super) fn check(new: &New, args: &[ast::Expr]) -> Result<()> {
    let setting = |name: &str| new.storage.settings.iter().find(|setting| setting.name.name == name);
    for (at, name) in REQUIRED.into_iter().enumerate() {
        ensure!(
            args.len() > at || setting(name).is_some(),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Required parameter '{name}' for storage Kafka not specified"
        );
    }
    let is_zero = |name: &str| {
        let Some(ast::SettingValue::Expr(value)) = setting(name).map(|setting| &setting.value) else {
            return false;
        };
        matches!(value.kind, ExprKind::Literal(Literal::UInt(0)))
    };
    if is_zero("kafka_num_consumers") {
        bail!(BAD_ARGUMENTS, "Number of consumers can not be lower than 1");
    }
    if let Some(name) = NOT_ZERO.into_iter().find(|name| is_zero(name)) {
        return Err(err!(BAD_ARGUMENTS, "{name} can not be lower than 1"));
    }
    let columns = &new.create.definition.columns;
    let computed = columns.iter().filter_map(|column| column.default.as_ref());
    let has_default = computed.map(|default| default.kind).any(|kind| kind != ast::DefaultKind::Alias);
    ensure!(
        !has_default,
        BAD_ARGUMENTS,
        "KafkaEngine doesn't support DEFAULT/MATERIALIZED/EPHEMERAL expressions for columns"
    );
    Ok(())
}
