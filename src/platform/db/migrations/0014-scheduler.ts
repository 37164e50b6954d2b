import { Migration } from '@mikro-orm/migrations';

/** Creates the schedule of chat rounds. */
export class Migration0014Scheduler extends Migration {
  override up(): void {
    // At most one row; none before the first start. Rounds are due at next_at and every interval_sec from there; next_at is null while the schedule
    // is stopped. rounds: number of rounds created so far, which is the number of the newest. pending: a round that was created and is not known to
    // have started; the next run continues with it. look_at: lease; no other run tries before this time, because one is running or was refused a
    // moment ago.
    this.addSql(`
      create table round_schedule (
        singleton boolean primary key default true check (singleton),
        interval_sec int not null check (interval_sec between 10 and 2592000),
        template jsonb not null,
        started_by text not null,
        next_at timestamptz(3),
        rounds int not null default 0,
        pending uuid unique references rounds,
        look_at timestamptz not null default app_now(),
        last_round uuid references rounds,
        last_started_at timestamptz(3),
        last_error text
      )`);
  }
}
