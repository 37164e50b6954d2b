import { Migration } from '@mikro-orm/migrations';

/**
 * Stores batches of activities uncompressed, because they are deleted so soon that compression would cost more than it saves. Rejects activities
 * without a batch, because no consumer would process them.
 */
export class Migration0026ActivityMarks extends Migration {
  override up(): void {
    this.addSql('alter table activity_batches alter column activities set storage external');
    // `not valid` exempts existing rows from the check, because activities from before migration 0024 may have no batch.
    this.addSql('alter table activities add constraint activities_batch check (batch is not null) not valid');
  }
}
