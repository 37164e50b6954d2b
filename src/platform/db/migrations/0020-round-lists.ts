import { Migration } from '@mikro-orm/migrations';

/** Creates the index of the lists of rounds. */
export class Migration0020RoundLists extends Migration {
  override up(): void {
    this.addSql(`set local lock_timeout = '5s'`);
    // The rounds of one kind in one state, newest first. A list of several states reads the first rows of each state.
    this.addSql('create index rounds_listed on rounds (kind, state, created_at desc, id desc)');
  }

  override down(): void {
    this.addSql('drop index rounds_listed');
  }
}
