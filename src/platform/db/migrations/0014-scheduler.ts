import { Migration } from '@mikro-orm/migrations';

/** What keeps chat rounds coming. */
export class Migration0014Scheduler extends Migration {
  override up(): void {
    // One row, or none before the first start. Rounds are due at next_at and every interval_sec from there: the grid. It is null while stopped.
    // rounds: how many the schedule has made, and the number of the newest. pending: made, and not yet known to have begun; whoever comes
    // next goes on with it. Nobody tries before look_at: somebody is at it, or it was refused a moment ago.
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
