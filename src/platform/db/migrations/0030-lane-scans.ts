import { Migration } from '@mikro-orm/migrations';

/** Creates the table of the histories of lanes that are being read, and gives each lane the reason why it waits. */
export class Migration0030LaneScans extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    // `reason` says why no batch can use the lane at present. `waiting_since` is the time since which the lane has a reason.
    this.addSql('alter table payout_lanes add column reason text, add column waiting_since timestamptz');
    this.addSql('alter table payout_lanes add check ((reason is null) = (waiting_since is null))');

    // The history of a lane's nonce account is read from the newest transaction back to the slot `floor`, one part per run. `before` is the signature
    // of the last transaction that was read; null at the beginning. `top_slot` is the slot of the newest transaction that was read. `opened_slot` is
    // the slot of the transaction that opened the account; null if it was not read. `complete`: every transaction between the slots was read.
    this.addSql(`
      create table payout_lane_scans (
        lane smallint primary key,
        address text collate "C" not null,
        floor bigint not null,
        top_slot bigint,
        before text collate "C",
        opened_slot bigint,
        listed int not null default 0,
        read int not null default 0,
        complete boolean not null default false,
        started_at timestamptz not null default app_now(),
        changed_at timestamptz not null default app_now()
      )`);
    this.addSql('create index payout_findings_nonce on payout_findings (address, nonce) where nonce is not null');
  }

  override down(): void {
    this.addSql('drop index payout_findings_nonce');
    this.addSql('drop table payout_lane_scans');
    this.addSql('alter table payout_lanes drop column reason, drop column waiting_since');
  }
}
