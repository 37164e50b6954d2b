import { Migration } from '@mikro-orm/migrations';

/**
 * Stores batches uncompressed, because they are deleted soon after they are written, and refuses activities without a batch, which no consumer would
 * see.
 */
export class Migration0026ActivityMarks extends Migration {
  override up(): void {
    this.addSql('alter table activity_batches alter column activities set storage external');
    // Activities older than batches have none.
    this.addSql('alter table activities add constraint activities_batch check (batch is not null) not valid');
  }
}
