import { Migration } from '@mikro-orm/migrations';

/**
 * Groups activities into batches. A batch is one row that holds all activities of a transaction. Consumers find, mark and delete only that row, so
 * activities are never updated.
 */
export class Migration0024ActivityBatches extends Migration {
  override up(): void {
    // `activities` is an array of [kind, source id, wallet, game, amount as text, battle]; consumers need no other table. `consumed` has one bit per
    // consumer (1 = referrals, 2 = quests, 4 = battles). A bit is set when its consumer has processed the batch. A batch with all bits set is
    // deleted.
    this.addSql('create sequence activity_batches_id as bigint');
    this.addSql(`
      create table activity_batches (
        id bigint primary key,
        consumed smallint not null default 0,
        size int not null check (size > 0),
        day int not null,
        at timestamptz not null,
        activities json not null
      )`);
    this.addSql('alter table activities add column batch bigint');
    this.addSql(`
      insert into activity_batches (id, consumed, size, day, at, activities)
      select nextval('activity_batches_id'), o.* from (
        select consumed, count(*), day, at, json_agg(json_build_array(kind, source_id, wallet, game_id, amount::text, battle_id))
        from activities where consumed <> 3 group by consumed, day, at order by at) o`);
    this.addSql(`
      update activities a set batch = b.id from activity_batches b
      where a.consumed <> 3 and a.consumed = b.consumed and a.day = b.day and a.at = b.at`);
    this.addSql('drop index activities_open');
    this.addSql('alter table activities drop column consumed');
  }
}
