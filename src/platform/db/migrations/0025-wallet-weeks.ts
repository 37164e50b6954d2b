import { Migration } from '@mikro-orm/migrations';

/**
 * Stores counts of activities in one row per week, with a value per day. This replaces the separate rows per day and per week, which took twice the
 * writes per score.
 */
export class Migration0025WalletWeeks extends Migration {
  override up(): void {
    // `week` is the day number of the Monday of the week. `counts`, `bests` and `sums` have one value per day, Monday first; `sums` is set only for
    // burns. `subject` is the id of the game, the id of the burn event, or ''.
    this.addSql(`
      create table wallet_weeks (
        wallet wallet not null,
        week int not null check ((week + 3) % 7 = 0),
        kind text collate "C" not null,
        subject text collate "C" not null,
        counts int[] not null check (cardinality(counts) = 7),
        bests bigint[] not null check (cardinality(bests) = 7),
        sums numeric[] check (cardinality(sums) = 7),
        primary key (wallet, week, kind, subject)
      ) with (fillfactor = 70)`);
    const weekdays = (value: string) => `array[${[0, 1, 2, 3, 4, 5, 6].map((i) => `coalesce(sum(${value}) filter (where i = ${i}), 0)`).join(', ')}]`;
    this.addSql(`
      insert into wallet_weeks (wallet, week, kind, subject, counts, bests, sums)
      select wallet, first_day - i, kind, subject, ${weekdays('count')}, ${weekdays('best')}, case when kind = 'burn' then ${weekdays('sum')} end
      from wallet_metrics, lateral (select (first_day + 3) % 7 as i) d where span = 1 group by 1, 2, 3, 4`);
    this.addSql('drop table wallet_metrics');
  }
}
