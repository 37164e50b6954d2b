import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { EXIT_CODES, type ScoreOptions, verifyScore } from '#packages/verify/src/index.ts';
import { OUTCOMES, type Terminal } from './round-command.ts';

const USAGE = 'usage: bin/verify-score URL ID [--simulation HASH] [--source FILE]';

/** Runs `bin/verify-score`. Returns its exit status. */
export async function runVerifyScore(args: readonly string[], { print, printError }: Terminal): Promise<number> {
  const options = await parse(args).catch((error: unknown) => String(error instanceof Error ? error.message : error));
  if (typeof options === 'string') {
    printError(`${options}\n${USAGE}`);
    return EXIT_CODES['cannot be checked'];
  }
  const { verdict, steps, onTheHousesWord } = await verifyScore(options);
  for (const { check, outcome, detail } of steps) print(`${OUTCOMES[outcome].padEnd(8)} ${check.padEnd(10)} ${detail}`);
  if (onTheHousesWord.length > 0) print(['', 'Taken on the house’s word:', ...onTheHousesWord.map((value) => `  ${value}`)].join('\n'));
  print(`\nscore ${options.scoreId}: ${verdict}`);
  return EXIT_CODES[verdict];
}

/** @throws Error with one sentence for a wrong command line or an unreadable file */
async function parse(args: readonly string[]): Promise<ScoreOptions> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { simulation: { type: 'string' }, source: { type: 'string' } },
  });
  const [house, scoreId] = positionals;
  if (house === undefined || scoreId === undefined || positionals.length > 2) throw new Error('the command needs a URL and the id of a score');
  if (!URL.canParse(house)) throw new Error('the first argument must be the URL of the house');
  const source = values.source === undefined ? undefined : new Uint8Array(await readFile(values.source));
  return { house, scoreId, simulation: values.simulation, source };
}
