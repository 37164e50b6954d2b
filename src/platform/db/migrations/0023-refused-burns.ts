import { Migration } from '@mikro-orm/migrations';

/** Creates the tables of burns that are not credited, and the index of the list of a wallet's sessions. */
export class Migration0023RefusedBurns extends Migration {
  override up(): void {
    // Transactions of a mint whose memo names no open event. The worker reads them only to list their burns in `burn_refusals`, so they are kept apart
    // from `burn_transactions`, which an event must have read before it is final.
    this.addSql(`
      create table burn_refusal_candidates (
        signature text collate "C" primary key,
        mint wallet not null,
        slot bigint not null,
        tries int not null default 0,
        next_at timestamptz not null default app_now(),
        found_at timestamptz not null default app_now(),
        read_at timestamptz
      )`);
    this.addSql('create index burn_refusal_candidates_unread on burn_refusal_candidates (mint, slot) where read_at is null');
    this.addSql('create index burn_refusal_candidates_read on burn_refusal_candidates (read_at) where read_at is not null');
    // One row per burn instruction that counts for no event, with the reason. `event_id` is the event that the memo names, which may not exist.
    this.addSql(`
      create table burn_refusals (
        signature text collate "C" not null,
        index smallint not null,
        wallet wallet not null,
        mint wallet not null,
        amount numeric not null check (amount > 0),
        event_id uuid,
        reason text not null check (reason in (
          'no-memo', 'several-memos', 'invalid-memo', 'unknown-event', 'other-token', 'not-started', 'ended', 'too-late', 'not-owner')),
        slot bigint not null,
        block_time timestamptz not null,
        recorded_at timestamptz not null default app_now(),
        primary key (signature, index)
      )`);
    this.addSql('create index burn_refusals_wallet on burn_refusals (wallet, block_time desc, signature, index)');
    this.addSql(`create index burn_events_ended on burn_events (mint, ends_at) where state = 'ended'`);

    this.addSql('drop index sessions_wallet');
    this.addSql('create index sessions_wallet on sessions (wallet, created_at desc, key)');
  }

  override down(): void {
    this.addSql('drop index sessions_wallet');
    this.addSql('create index sessions_wallet on sessions (wallet)');
    this.addSql('drop index burn_events_ended');
    this.addSql('drop table burn_refusals, burn_refusal_candidates');
  }
}
