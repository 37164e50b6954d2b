import { Migration } from '@mikro-orm/migrations';

/** Stores with each play how many plays without a score its wallet can have, so that the next play need not count them. Plays of earlier releases have null. */
export class Migration0072UnfinishedPlays extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    this.addSql('alter table plays add column unfinished smallint');
  }

  override down(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    this.addSql('alter table plays drop column unfinished');
  }
}
