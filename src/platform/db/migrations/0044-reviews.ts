import { Migration } from '@mikro-orm/migrations';

/**
 * Lets operators review an epoch before its root is signed: wallets can be excluded, and the allocation is computed anew. Each allocation of an epoch
 * has a number and its own leaves. The change of the keys of `reward_leaves` builds two indexes, which takes about a second per million leaves.
 */
export class Migration0044Reviews extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    // Columns of `epochs`:
    //   `allocation`: the number of the allocation in force, from 1.
    //   `review_ends_at`: the time before which the root is not signed; null for an epoch without a review.
    //   `exclusions_changed_at`: the first change of the exclusions that the allocation in force does not include; null when it includes all changes.
    //   `min_play_days`, `min_accepted_scores`: copies of the values in the reward rules.
    this.addSql(`
      alter table epochs
        add column allocation smallint not null default 1 check (allocation > 0),
        add column review_ends_at timestamptz,
        add column exclusions_changed_at timestamptz,
        add column min_play_days smallint not null default 0,
        add column min_accepted_scores int not null default 0`);
    this.addSql(`
      alter table reward_leaves
        add column allocation smallint not null default 1,
        drop constraint reward_leaves_pkey,
        drop constraint reward_leaves_epoch_wallet_key,
        add primary key (epoch, allocation, index),
        add unique (epoch, allocation, wallet)`);
    this.addSql(`
      alter table reward_trees
        add column allocation smallint not null default 1,
        drop constraint reward_trees_pkey,
        add primary key (epoch, allocation, level, chunk)`);
    // A row is an allocation that a later allocation of the epoch replaced. The allocation in force is in `epochs`.
    this.addSql(`
      create table reward_allocations (
        epoch int not null,
        allocation smallint not null,
        root bytea,
        wallets int not null,
        points bigint not null,
        leaves int not null,
        total token_amount not null,
        undistributed token_amount not null,
        computed_at timestamptz not null,
        primary key (epoch, allocation)
      )`);
    // A row excludes a wallet from the allocations of an epoch from `from_allocation` up to, but not including, `to_allocation`.
    this.addSql(`
      create table reward_exclusions (
        epoch int not null,
        wallet wallet not null,
        cause text not null check (cause in ('operator', 'ban', 'rule')),
        from_allocation smallint not null,
        to_allocation smallint,
        reason text not null,
        excluded_by text,
        at timestamptz not null default app_now(),
        primary key (epoch, wallet, cause, from_allocation),
        check (to_allocation > from_allocation),
        check ((cause = 'operator') = (excluded_by is not null))
      )`);
    this.addSql('create unique index reward_exclusions_in_force on reward_exclusions (epoch, wallet, cause) where to_allocation is null');
    this.addSql('create index players_banned on players (banned_at) where banned_at is not null');
  }

  /** Fails when an epoch has more than one allocation. */
  override down(): void {
    this.addSql('drop index players_banned');
    this.addSql('drop table reward_exclusions, reward_allocations');
    this.addSql(`
      alter table reward_trees
        drop constraint reward_trees_pkey,
        add primary key (epoch, level, chunk),
        drop column allocation`);
    this.addSql(`
      alter table reward_leaves
        drop constraint reward_leaves_pkey,
        drop constraint reward_leaves_epoch_allocation_wallet_key,
        add primary key (epoch, index),
        add unique (epoch, wallet),
        drop column allocation`);
    this.addSql(`
      alter table epochs
        drop column allocation, drop column review_ends_at, drop column exclusions_changed_at,
        drop column min_play_days, drop column min_accepted_scores`);
  }
}
