import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { QUICKNET } from '#lib/draw/beacon-chain.ts';
import { Hash } from '#lib/draw/bytes.ts';
import { decodeDraws, drawsAddress, drawsProgramState, initDraws, rotateCommitter } from '#platform/solana/draws/index.ts';
import { type Address, isOnCurve, parseAddress, parseSecretKey, type Signer } from '#platform/solana/primitives.ts';
import { RpcNode } from '#platform/solana/rpc-node.ts';
import { deployProgram } from './deployment.ts';
import { type LandingOptions, land } from './landing.ts';

const USAGE = 'usage: bin/deploy distributor|draws|init-draws|rotate --rpc URL --payer FILE … (see bin/deploy for all options)';

const OPTIONS = {
  rpc: { type: 'string' },
  payer: { type: 'string' },
  program: { type: 'string' },
  founder: { type: 'string' },
  committer: { type: 'string' },
  'receipt-key': { type: 'string' },
  'upgrade-authority': { type: 'string' },
  margin: { type: 'string', default: '60' },
  window: { type: 'string', default: '600' },
  'chain-hash': { type: 'string' },
  period: { type: 'string' },
  genesis: { type: 'string' },
  development: { type: 'boolean', default: false },
  price: { type: 'string', default: '0' },
  'poll-ms': { type: 'string', default: '500' },
} as const;

type Values = ReturnType<typeof parse>['values'];
type TextOption = { [Name in keyof typeof OPTIONS]: (typeof OPTIONS)[Name]['type'] extends 'string' ? Name : never }[keyof typeof OPTIONS];

const parse = (args: readonly string[]) => parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });

/** Reads the options of a command. Each method throws when the option is missing or wrong. */
class CommandOptions {
  readonly #values: Values;

  constructor(values: Values) {
    this.#values = values;
  }

  text(name: TextOption): string {
    const value = this.#values[name];
    if (!value) throw new Error(`--${name} is missing`);
    return value;
  }

  number(name: TextOption): number {
    const value = Number(this.text(name));
    if (!Number.isSafeInteger(value) || value < 0) throw new Error(`--${name} must be a whole number`);
    return value;
  }

  address(name: TextOption): Address {
    const value = this.text(name);
    try {
      return parseAddress(value);
    } catch {
      throw new Error(`--${name} must be an address, not ${value}`);
    }
  }

  /** Reads an address that has a private key. */
  publicKey(name: TextOption): Address {
    const address = this.address(name);
    if (!isOnCurve(address)) throw new Error(`--${name} must be a public key, and ${address.toBase58()} is none`);
    return address;
  }

  /** Reads a secret key from a file. Error messages never contain the key. */
  key(name: TextOption): Signer {
    const file = this.text(name);
    const key = parseSecretKey(readFileSync(file, 'utf8').trim());
    if (!key) throw new Error(`the file ${file} of --${name} must contain a secret key: a JSON array of 64 numbers, or base58 of 64 bytes`);
    return key;
  }

  get isDevelopment(): boolean {
    return this.#values.development;
  }

  /** The beacon: drand quicknet, or with --development any other. The facts of a draws account can never be corrected. */
  get beacon() {
    const { 'chain-hash': chainHash, period, genesis } = this.#values;
    if (chainHash === undefined && period === undefined && genesis === undefined)
      return { chainHash: QUICKNET.chainHash, period: QUICKNET.period, genesis: QUICKNET.genesisTime };
    if (!this.isDevelopment) throw new Error('another beacon than drand quicknet needs --development');
    return { chainHash: Hash.parse(this.text('chain-hash')), period: this.number('period'), genesis: this.number('genesis') };
  }

  get landing(): LandingOptions {
    const node = new RpcNode(this.text('rpc'), { retriesRateLimit: true });
    return { node, price: this.number('price'), pollMs: this.number('poll-ms') };
  }
}

type Command = (options: CommandOptions, print: (line: string) => void) => Promise<void>;

/** Deploys the committed file of a program. */
const deploying =
  (name: 'distributor' | 'draws', upgradeAuthorityOf: (options: CommandOptions) => Address | null): Command =>
  (options, print) =>
    deployProgram({
      ...options.landing,
      payer: options.key('payer'),
      program: options.key('program'),
      bytes: readFileSync(join(import.meta.dirname, `../${name}/${name}.so`)),
      upgradeAuthority: upgradeAuthorityOf(options),
      print,
    });

/** Creates the draws account of the founder, and prints its address. */
const initializeDraws: Command = async (options, print) => {
  const { landing } = options;
  const program = options.address('program');
  const state = await drawsProgramState(landing.node, program);
  if (state !== 'ours') throw new Error(`the program at ${program.toBase58()} is not the final draws program: ${state}`);
  const [payer, founder] = [options.key('payer'), options.key('founder')];
  const init = initDraws({
    program,
    payer: payer.publicKey,
    founder: founder.publicKey,
    committer: options.publicKey('committer'),
    receiptKey: options.publicKey('receipt-key'),
    ...options.beacon,
    margin: options.number('margin'),
    window: options.number('window'),
    isDevelopment: options.isDevelopment,
  });
  await land([{ instructions: [init], signers: [payer, founder] }], landing, 'finalized');
  await printDraws(landing, program, founder.publicKey, print);
};

/** Replaces the committer of a founder's draws account. */
const rotate: Command = async (options, print) => {
  const { landing } = options;
  const program = options.address('program');
  const [payer, founder] = [options.key('payer'), options.key('founder')];
  const rotating = rotateCommitter({ program, founder: founder.publicKey, committer: options.publicKey('committer') });
  await land([{ instructions: [rotating], signers: [payer, founder] }], landing, 'finalized');
  await printDraws(landing, program, founder.publicKey, print);
};

async function printDraws({ node }: LandingOptions, program: Address, founder: Address, print: (line: string) => void): Promise<void> {
  const address = drawsAddress(program, founder);
  const facts = decodeDraws(program, (await node.account(address, 'finalized')).account);
  print(JSON.stringify({ draws: address.toBase58(), ...facts }, null, 2));
}

const COMMANDS: Readonly<Record<string, Command>> = {
  distributor: deploying('distributor', (options) => (options.text('upgrade-authority') === 'none' ? null : options.address('upgrade-authority'))),
  draws: deploying('draws', () => null),
  'init-draws': initializeDraws,
  rotate,
};

/** Runs a command line. @throws when an argument is wrong or a transaction fails */
export async function runDeploy(args: readonly string[], print: (line: string) => void): Promise<void> {
  const { positionals, values } = parse(args);
  const command = positionals.length === 1 ? COMMANDS[positionals[0] ?? ''] : undefined;
  if (!command) throw new Error(USAGE);
  await command(new CommandOptions(values), print);
}

if (import.meta.main) {
  try {
    await runDeploy(process.argv.slice(2), console.log);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}
