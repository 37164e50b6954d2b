import { Migration } from '@mikro-orm/migrations';

/** Creates the table for the schedule that starts chat rounds of the lottery. */
export class Migration0014Scheduler extends Migration {
  override up(): void {
    // The table is empty until the schedule is started for the first time; from then on it has one row. Columns:
    //   `next_at`: the time at which the next round is due; null while the schedule is stopped.
    //   `interval_sec`: the time between two rounds, seconds.
    //   `rounds`: the number of rounds created so far. It is also the number of the newest round.
    //   `pending`: a round that was created but may not have started yet; the next run of the scheduler continues with this round.
    //   `look_at`: a lease; no run begins before this time, because another run is in progress or has just failed.
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
