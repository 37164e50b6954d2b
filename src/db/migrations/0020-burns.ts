import { Migration } from '@mikro-orm/migrations';

/** Burn events and the burns that were read from the chain. */
export class Migration0020Burns extends Migration {
  override up(): void {}
}
