import { Migration } from '@mikro-orm/migrations';

/** Battles, their seats and what was scored in them; a third consumer of activities. */
export class Migration0019Battles extends Migration {
  override up(): void {
    // A score may be meant for a battle. consumed: the bits of the consumers that are done (1 referrals, 2 quests, 4 battles).
    this.addSql('alter table activities add column battle_id uuid');
    this.addSql('update activities set consumed = consumed | 4');
    this.addSql('drop index activities_open');
    this.addSql('create index activities_open on activities (at) where consumed <> 7');
  }
}
