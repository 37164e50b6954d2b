import { Migration } from '@mikro-orm/migrations';

/** Clips; their media lie in the storage. */
export class Migration0022Clips extends Migration {
  override up(): void {}
}
