import { Migration } from '@mikro-orm/migrations';

/** Stores the payloads of events as the text that the service sent: PostgreSQL never searches in them, and to convert them to jsonb and back takes longer than to store them. */
export class Migration0070EventTexts extends Migration {
  override up(): void {
    this.addSql('alter table outbox alter column payload type json using payload::json');
    this.addSql('alter table outbox alter column payload set storage external');
  }

  override down(): void {
    this.addSql('alter table outbox alter column payload type jsonb using payload::jsonb');
    this.addSql('alter table outbox alter column payload set storage external');
  }
}
