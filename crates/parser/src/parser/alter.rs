//! ALTER, and all actions of ALTER TABLE.

use super::{Parser, Result, create::TableElement, ddl::ViewPrefix};
use crate::{
    ast::{AlterAction, AlterTableStmt, ColumnPosition, Ident, OnlineOptions, Stmt},
    lexer::{Kw, Tok},
};

impl Parser<'_> {
    /// `ALTER …`.
    pub(super) fn alter(&mut self) -> Result<Stmt> {
        let start = self.bump().start;
        let Tok::Kw(kw) = self.tok.tok else { return Err(self.syntax()) };
        match kw {
            Kw::TABLE => {
                self.bump();
                Ok(Stmt::AlterTable(Box::new(self.alter_table()?)))
            }
            Kw::DATABASE | Kw::SCHEMA => Ok(Stmt::AlterDatabase(self.alter_database()?)),
            Kw::USER => Ok(Stmt::AlterUser(Box::new(self.alter_user()?))),
            Kw::ALGORITHM | Kw::DEFINER | Kw::SQL | Kw::VIEW => {
                let mut prefix = ViewPrefix { alter: true, ..ViewPrefix::default() };
                self.view_prefix(&mut prefix)?;
                if self.eat(Kw::VIEW) {
                    return Ok(Stmt::CreateView(Box::new(self.create_view(prefix)?)));
                }
                self.unsupported_object("ALTER", start)
            }
            _ => self.unsupported_object("ALTER", start),
        }
    }

    fn alter_table(&mut self) -> Result<AlterTableStmt> {
        let table = self.table_name()?;
        let mut stmt = AlterTableStmt { table, actions: Vec::new(), online: OnlineOptions::default(), validation: None };
        if self.at_statement_end() {
            return Ok(stmt);
        }
        loop {
            if self.at(Kw::PARTITION) {
                // PARTITION BY stands last and without a comma.
                stmt.actions.push(AlterAction::PartitionBy(self.partition_by()?));
                break;
            }
            if let Some(kw) = self.eat_any(&[Kw::WITH, Kw::WITHOUT]) {
                self.expect(Kw::VALIDATION)?;
                stmt.validation = Some(kw == Kw::WITH);
            } else if !self.opt_online_option(&mut stmt.online)? {
                self.alter_action(&mut stmt.actions)?;
            }
            if self.eat(Tok::Comma) {
                continue;
            }
            if self.at(Kw::PARTITION) {
                continue;
            }
            if self.at(Kw::REMOVE) && self.peek_is(Kw::PARTITIONING) {
                self.alter_action(&mut stmt.actions)?;
            }
            break;
        }
        Ok(stmt)
    }

    fn alter_action(&mut self, actions: &mut Vec<AlterAction>) -> Result<()> {
        let Tok::Kw(kw) = self.tok.tok else { return self.alter_options(actions) };
        let action = match kw {
            Kw::ADD => return self.alter_add(actions),
            Kw::DROP => self.alter_drop()?,
            Kw::MODIFY => {
                self.bump();
                self.eat(Kw::COLUMN);
                let column = self.column_def()?;
                AlterAction::ModifyColumn { column, position: self.opt_position()? }
            }
            Kw::CHANGE => {
                self.bump();
                self.eat(Kw::COLUMN);
                let old = self.ident()?;
                let column = self.column_def()?;
                AlterAction::ChangeColumn { old, column, position: self.opt_position()? }
            }
            Kw::ALTER => self.alter_alter()?,
            Kw::RENAME => self.alter_rename()?,
            Kw::CONVERT => self.alter_convert()?,
            Kw::ORDER => AlterAction::OrderBy(self.opt_order_by()?),
            Kw::ENABLE | Kw::DISABLE => {
                self.bump();
                self.expect(Kw::KEYS)?;
                AlterAction::EnableKeys(kw == Kw::ENABLE)
            }
            Kw::FORCE => {
                self.bump();
                AlterAction::Force
            }
            Kw::REMOVE => {
                self.bump();
                self.expect(Kw::PARTITIONING)?;
                AlterAction::RemovePartitioning
            }
            Kw::TRUNCATE | Kw::COALESCE | Kw::REORGANIZE | Kw::EXCHANGE => self.alter_partitions(kw)?,
            Kw::DISCARD | Kw::IMPORT => self.alter_tablespace(kw)?,
            Kw::ANALYZE | Kw::CHECK | Kw::OPTIMIZE | Kw::REBUILD | Kw::REPAIR => {
                self.bump();
                self.expect(Kw::PARTITION)?;
                self.eat_any(&[Kw::NO_WRITE_TO_BINLOG, Kw::LOCAL]);
                AlterAction::MaintainPartitions { verb: kw.name(), names: self.partition_names_or_all()? }
            }
            _ => return self.alter_options(actions),
        };
        actions.push(action);
        Ok(())
    }

    fn alter_options(&mut self, actions: &mut Vec<AlterAction>) -> Result<()> {
        let options = self.table_options_without_commas()?;
        if options.is_empty() {
            return Err(self.syntax());
        }
        // Options separated by commas are one action, as they were written in one list.
        if let Some(AlterAction::Options(before)) = actions.last_mut() {
            before.extend(options);
        } else {
            actions.push(AlterAction::Options(options));
        }
        Ok(())
    }

    fn alter_add(&mut self, actions: &mut Vec<AlterAction>) -> Result<()> {
        self.bump();
        if self.eat(Kw::PARTITION) {
            self.eat_any(&[Kw::NO_WRITE_TO_BINLOG, Kw::LOCAL]);
            actions.push(if self.eat(Kw::PARTITIONS) {
                AlterAction::AddPartitionCount(self.uint()?)
            } else {
                AlterAction::AddPartitions(self.partition_defs()?)
            });
            return Ok(());
        }
        let column_word = self.eat(Kw::COLUMN);
        let if_not_exists = self.if_not_exists()?;
        if self.at(Tok::LParen) {
            for element in self.paren_list(Self::table_element)? {
                actions.push(match element {
                    TableElement::Column(column) => AlterAction::AddColumn { if_not_exists, column, position: None },
                    TableElement::Constraint(constraint) => AlterAction::AddConstraint { if_not_exists, constraint },
                });
            }
            return Ok(());
        }
        if !column_word && let Some(constraint) = self.opt_table_constraint()? {
            actions.push(AlterAction::AddConstraint { if_not_exists, constraint });
            return Ok(());
        }
        let column = self.column_def()?;
        actions.push(AlterAction::AddColumn { if_not_exists, column, position: self.opt_position()? });
        Ok(())
    }

    /// `[FIRST | AFTER column]`.
    fn opt_position(&mut self) -> Result<Option<ColumnPosition>> {
        if self.eat(Kw::FIRST) {
            return Ok(Some(ColumnPosition::First));
        }
        if self.eat(Kw::AFTER) {
            return Ok(Some(ColumnPosition::After(self.ident()?)));
        }
        Ok(None)
    }

    fn alter_drop(&mut self) -> Result<AlterAction> {
        self.bump();
        Ok(match self.tok.tok {
            Tok::Kw(Kw::PRIMARY) => {
                self.bump();
                self.expect(Kw::KEY)?;
                AlterAction::DropPrimaryKey
            }
            Tok::Kw(Kw::INDEX | Kw::KEY) => {
                self.bump();
                let if_exists = self.if_exists();
                AlterAction::DropIndex { if_exists, name: self.index_name()? }
            }
            Tok::Kw(Kw::FOREIGN) => {
                self.bump();
                self.expect(Kw::KEY)?;
                AlterAction::DropForeignKey(self.ident()?)
            }
            Tok::Kw(Kw::CHECK) => {
                self.bump();
                AlterAction::DropCheck(self.ident()?)
            }
            Tok::Kw(Kw::CONSTRAINT) => {
                self.bump();
                AlterAction::DropConstraint(self.ident()?)
            }
            Tok::Kw(Kw::PARTITION) => {
                self.bump();
                AlterAction::DropPartitions(self.comma_list(Self::ident)?)
            }
            _ => {
                self.eat(Kw::COLUMN);
                let if_exists = self.if_exists();
                let name = self.ident()?;
                // MySQL parses and ignores these two.
                self.eat_any(&[Kw::CASCADE, Kw::RESTRICT]);
                AlterAction::DropColumn { if_exists, name }
            }
        })
    }

    /// `ALTER [COLUMN] …`, `ALTER INDEX …`, `ALTER {CHECK | CONSTRAINT} …`.
    fn alter_alter(&mut self) -> Result<AlterAction> {
        self.bump();
        if self.eat(Kw::INDEX) {
            let name = self.ident()?;
            return match self.eat_any(&[Kw::VISIBLE, Kw::INVISIBLE]) {
                Some(kw) => Ok(AlterAction::AlterIndexVisible { name, visible: kw == Kw::VISIBLE }),
                None => Err(self.syntax()),
            };
        }
        if self.eat_any(&[Kw::CHECK, Kw::CONSTRAINT]).is_some() {
            let name = self.ident()?;
            return match self.opt_enforced() {
                Some(enforced) => Ok(AlterAction::AlterCheck { name, enforced }),
                None => Err(self.syntax()),
            };
        }
        self.eat(Kw::COLUMN);
        let name = self.ident()?;
        if self.eat(Kw::DROP) {
            self.expect(Kw::DEFAULT)?;
            return Ok(AlterAction::AlterColumnDefault { name, default: None, parenthesized: false });
        }
        self.expect(Kw::SET)?;
        if let Some(kw) = self.eat_any(&[Kw::VISIBLE, Kw::INVISIBLE]) {
            return Ok(AlterAction::AlterColumnVisible { name, visible: kw == Kw::VISIBLE });
        }
        self.expect(Kw::DEFAULT)?;
        let (default, parenthesized) = self.default_value()?;
        Ok(AlterAction::AlterColumnDefault { name, default: Some(default), parenthesized })
    }

    fn alter_rename(&mut self) -> Result<AlterAction> {
        self.bump();
        if self.eat_any(&[Kw::INDEX, Kw::KEY]).is_some() {
            let (old, new) = self.old_to_new()?;
            return Ok(AlterAction::RenameIndex { old, new });
        }
        if self.eat(Kw::COLUMN) {
            let (old, new) = self.old_to_new()?;
            return Ok(AlterAction::RenameColumn { old, new });
        }
        if !self.eat(Kw::TO) && !self.eat(Kw::AS) {
            self.eat(Tok::Eq);
        }
        Ok(AlterAction::RenameTable(self.table_name()?))
    }

    fn old_to_new(&mut self) -> Result<(Ident, Ident)> {
        let old = self.ident()?;
        self.expect(Kw::TO)?;
        Ok((old, self.ident()?))
    }

    /// `CONVERT TO CHARACTER SET c [COLLATE c]`.
    fn alter_convert(&mut self) -> Result<AlterAction> {
        self.bump();
        self.expect(Kw::TO)?;
        if !self.at_charset_clause() {
            return Err(self.syntax());
        }
        let charset = self.charset_clause()?;
        let mut collation = None;
        if self.eat(Kw::COLLATE) {
            self.opt_eq();
            collation = Some(self.collation_name()?);
        }
        Ok(AlterAction::ConvertCharset { charset, collation })
    }

    /// `p, …` or ALL, which is an empty list.
    fn partition_names_or_all(&mut self) -> Result<Vec<Ident>> {
        if self.eat(Kw::ALL) { Ok(Vec::new()) } else { self.comma_list(Self::ident) }
    }

    fn alter_partitions(&mut self, kw: Kw) -> Result<AlterAction> {
        self.bump();
        self.expect(Kw::PARTITION)?;
        self.eat_any(&[Kw::NO_WRITE_TO_BINLOG, Kw::LOCAL]);
        Ok(match kw {
            Kw::TRUNCATE => AlterAction::TruncatePartitions(self.partition_names_or_all()?),
            Kw::COALESCE => AlterAction::CoalescePartition(self.uint()?),
            Kw::REORGANIZE => {
                if self.at_statement_end() {
                    return Ok(AlterAction::ReorganizePartitions { names: Vec::new(), into: Vec::new() });
                }
                let names = self.comma_list(Self::ident)?;
                self.expect(Kw::INTO)?;
                AlterAction::ReorganizePartitions { names, into: self.partition_defs()? }
            }
            _ => {
                let name = self.ident()?;
                self.expect(Kw::WITH)?;
                self.expect(Kw::TABLE)?;
                AlterAction::ExchangePartition { name, table: self.table_name()? }
            }
        })
    }

    fn alter_tablespace(&mut self, kw: Kw) -> Result<AlterAction> {
        self.bump();
        if self.eat(Kw::PARTITION) {
            let names = self.partition_names_or_all()?;
            self.expect(Kw::TABLESPACE)?;
            let verb = if kw == Kw::DISCARD { "DISCARD TABLESPACE" } else { "IMPORT TABLESPACE" };
            return Ok(AlterAction::MaintainPartitions { verb, names });
        }
        self.expect(Kw::TABLESPACE)?;
        Ok(AlterAction::Tablespace { import: kw == Kw::IMPORT })
    }
}
