import { parseArgs } from 'node:util';
import { EXIT_CODES, verifyEpoch } from '#packages/verify/src/index.ts';

const print = (line: string) => void process.stdout.write(`${line}\n`);
const printError = (line: string) => void process.stderr.write(`${line}\n`);

const USAGE = 'usage: bin/verify-epoch URL EPOCH [--rpc URL] [--program ADDRESS] [--authority ADDRESS] [--mint ADDRESS]';

/** Verifies an epoch and prints each check that holds. Returns the exit code. */
async function main(): Promise<number> {
  const text = { type: 'string' } as const;
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { rpc: text, program: text, authority: text, mint: text } });
  const [house = '', number = ''] = positionals;
  if (!URL.canParse(house) || !/^\d{1,9}$/.test(number) || positionals.length !== 2) {
    printError(USAGE);
    return EXIT_CODES['cannot be checked'];
  }
  const { rpc = process.env.SOLANA_RPC_URL ?? 'https://api.mainnet-beta.solana.com', ...pins } = values;
  const { verdict, steps, onTheHousesWord } = await verifyEpoch({
    ...{ house, epoch: Number(number), rpc, pins },
    onStep: ({ outcome, detail }) => outcome === 'true' && print(detail),
  });
  const found = (wanted: 'false' | 'unknown') => steps.flatMap(({ outcome, detail }) => (outcome === wanted ? [detail] : [])).join('; ');
  if (verdict === 'true') {
    for (const line of ['', 'Taken on the service’s word:', ...onTheHousesWord.map((value) => `  ${value}`), '']) print(line);
    print(`epoch ${number} is verified`);
  } else if (verdict === 'false') printError(`epoch ${number} failed verification: ${found('false')}`);
  else printError(`epoch ${number} could not be checked: ${found('unknown')}`);
  return EXIT_CODES[verdict];
}

process.exitCode = await main();
