import { Migration } from '@mikro-orm/migrations';

/** Tickets of legacy rounds. */
export class Migration0013Tickets extends Migration {
  override up(): void {}
}
