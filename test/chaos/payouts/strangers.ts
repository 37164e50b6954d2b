import { setTimeout as sleep } from 'node:timers/promises';
import { LocalnetControl } from '#dev/localnet/control/control.ts';
import type { System } from '#dev/stack/system.ts';
import { newSigner, parseAddress, type Signer } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, transferChecked } from '#platform/solana/tokens.ts';
import { addressOfKey, connect, signed, type TestConnection, transfer } from '#test/support/solana/chain.ts';
import type { Database } from '../system/database.ts';

/** Interval between two bursts, ms. */
const BURST_MS = 2_000;
/** Maximum transactions of a burst, and of a run: the localnet keeps all of them in memory. */
const MAX_BURST = 1_000;
const MAX_TRANSACTIONS = 100_000;
/** Maximum addresses of one transaction of a stranger. */
const MAX_ADDRESSES = 30;
const DUST_USDC = 1n;

/** Strangers who send transactions that name the accounts of the service, and dust to them. */
export class Strangers {
  /** Number of memo transactions, and of transfers of dust. */
  memos = 0;
  dust = 0;
  readonly key: Signer = newSigner();
  readonly connection: TestConnection;
  readonly env: System['env'];
  readonly #url: string;
  readonly #database: Database;
  readonly #control: LocalnetControl;
  readonly #perBurst: number;

  constructor(system: System, database: Database, forMs: number) {
    const url = system.localnet?.url ?? '';
    this.env = system.env;
    this.#url = url;
    this.#database = database;
    this.#control = new LocalnetControl(url);
    // The path `/second` of the localnet's own port.
    this.connection = connect(`${url}/second`);
    this.#perBurst = Math.min(MAX_BURST, Math.ceil((MAX_TRANSACTIONS * BURST_MS) / forMs));
  }

  /** Gives the stranger SOL and tokens. */
  async fund(): Promise<void> {
    const body = JSON.stringify({ wallet: this.key.publicKey.toBase58(), sol: 1_000, usdc: 1_000, reward: 1_000 });
    const answer = await fetch(`${this.#url}/faucet`, { method: 'POST', body });
    if (!answer.ok) throw new Error(`the faucet returned ${answer.status}: ${await answer.text()}`);
  }

  /** Sends bursts until the run is over. Ignores errors: the localnet or the database may be down. */
  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await this.#burst().catch(() => undefined);
      for (let waited = 0; waited < BURST_MS && !isOver(); waited += 100) await sleep(100);
    }
  }

  async #burst(): Promise<void> {
    const addresses = await this.#addresses();
    await this.#control.strangers(addresses, this.#perBurst);
    this.memos += this.#perBurst;
    await this.#sendDust(addresses);
    this.dust++;
  }

  /** The fee payer, the treasury and its token accounts, all lanes, and the newest epochs with their vaults. */
  async #addresses(): Promise<string[]> {
    const { env } = this;
    const treasury = addressOfKey(env.TREASURY_KEY);
    const tokens = [env.USDC_MINT, env.REWARD_MINT].map((mint) => associatedTokenAddress(treasury, parseAddress(mint ?? '')).toBase58());
    const fixed = [addressOfKey(env.FEE_PAYER_KEY), treasury, addressOfKey(env.EPOCH_AUTHORITY_KEY)].map((key) => key.toBase58());
    const lanes = await this.#database.rows<{ address: string }>('select address from payout_lanes order by lane');
    const epochs = await this.#database.rows<{ address: string; vault: string }>('select address, vault from epoch_accounts order by epoch limit 6');
    return [...fixed, ...tokens, ...lanes.map(({ address }) => address), ...epochs.flatMap(({ address, vault }) => [address, vault])].slice(
      0,
      MAX_ADDRESSES,
    );
  }

  /** Sends one lamport to each of the addresses, and the smallest amount of USDC to the treasury. */
  async #sendDust(addresses: readonly string[]): Promise<void> {
    const mint = parseAddress(this.env.USDC_MINT ?? '');
    const owner = this.key.publicKey;
    const to = associatedTokenAddress(addressOfKey(this.env.TREASURY_KEY), mint);
    const instructions = [
      ...addresses.slice(0, 12).map((address) => transfer(this.key, parseAddress(address), 1)),
      transferChecked({ from: associatedTokenAddress(owner, mint), to, owner, mint, decimals: 6, amount: DUST_USDC }),
    ];
    const { blockhash } = await this.connection.getLatestBlockhash();
    await this.connection.sendRawTransaction(signed(instructions, [this.key], blockhash).serialize(), { skipPreflight: true });
  }
}
