//! Budgets of physical partitions under a clock that the test moves.

mod account;
mod limits;
mod offers;
mod refusals;
mod regions;
mod statistics;
