import { Migration } from '@mikro-orm/migrations';

/** Marks the replays that are kept for ever, so that the deletion of old replays reads each of them once. */
export class Migration0068KeptReplays extends Migration {
  override up(): void {
    this.addSql('alter table score_replays add column kept boolean not null default false');
    this.addSql('drop index score_replays_at');
    this.addSql('create index score_replays_at on score_replays (at) where not kept');
  }

  override down(): void {
    this.addSql('drop index score_replays_at');
    this.addSql('create index score_replays_at on score_replays (at)');
    this.addSql('alter table score_replays drop column kept');
  }
}
