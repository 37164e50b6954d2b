import { Migration } from '@mikro-orm/migrations';

/**
 * Lets plays and scores name the batch of their activity, so that the activity needs no row of its own in `activities`. Plays and scores of earlier releases
 * have null, and their activities have rows.
 */
export class Migration0073BatchesOfPlays extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    for (const table of ['plays', 'scores']) this.addSql(`alter table ${table} add column batch bigint`);
  }

  override down(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    for (const table of ['plays', 'scores']) this.addSql(`alter table ${table} drop column batch`);
  }
}
