import { Migration } from '@mikro-orm/migrations';

/** Stores game states as text, and the version of each quest that clients were told of. */
export class Migration0019TrueAnswers extends Migration {
  override up(): void {
    // The text that the client sent. `jsonb` changes the order of keys and the digits of long numbers.
    this.addSql('alter table game_states alter column state type text using state::text');
    // The version that the last event about the quest announced. Open quests count as announced, so that the upgrade emits no events about them.
    this.addSql('alter table quests add column published_version int');
    this.addSql(`
      update quests set published_version = version
      where deleted_at is null and (definition ->> 'active')::boolean
        and coalesce((definition #>> '{window,startsAt}')::timestamptz <= app_now(), true)
        and coalesce((definition #>> '{window,endsAt}')::timestamptz > app_now(), true)`);
  }

  override down(): void {
    this.addSql('alter table quests drop column published_version');
    this.addSql('alter table game_states alter column state type jsonb using state::jsonb');
  }
}
