import { Migration } from '@mikro-orm/migrations';

/** Batches are written once and soon gone, so they are not compressed; and an activity without a batch, which nobody would consume, is refused. */
export class Migration0026ActivityMarks extends Migration {
  override up(): void {
    this.addSql('alter table activity_batches alter column activities set storage external');
    // Those from before there were batches have none.
    this.addSql('alter table activities add constraint activities_batch check (batch is not null) not valid');
  }
}
