import { EXIT_CODES, type RoundResult, type Step, type Verification, type VerifyOptions, verifyRound } from '#packages/verify/src/index.ts';
import { CommandLineError, parseRoundOptions } from './round-options.ts';

/** What a command uses of its process. Each function writes one line. */
export interface Terminal {
  readonly print: (line: string) => void;
  readonly printError: (line: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Words for the outcomes of checks. */
export const OUTCOMES: Readonly<Record<Step['outcome'], string>> = { true: 'true', false: 'FALSE', unknown: 'unknown', late: 'LATE' };
const OUTCOME_WIDTH = 8;
const CHECK_WIDTH = 13;

/** Runs `bin/verify-round`. Returns its exit status. */
export async function runVerifyRound(args: readonly string[], { print, printError, env }: Terminal): Promise<number> {
  let options: VerifyOptions;
  try {
    options = await parseRoundOptions(args, env);
  } catch (error) {
    if (!(error instanceof CommandLineError)) throw error;
    printError(error.message);
    return EXIT_CODES['cannot be checked'];
  }
  const verification = await verifyRound(options);
  for (const line of describe(options.round, verification)) print(line);
  return EXIT_CODES[verification.verdict];
}

/** Returns the lines that report a verification: the checks, the result, the values on the house's word, and last the verdict. */
function describe(round: string, { verdict, isDevelopment, steps, onTheHousesWord, result }: Verification): string[] {
  const rules = isDevelopment && (verdict === 'true' || verdict === 'late or unpaid') ? ' under development rules' : '';
  const said = verdict === 'late or unpaid' ? `true${rules}, but late or unpaid` : `${verdict}${rules}`;
  return [
    ...steps.map(({ check, outcome, detail }) => `${OUTCOMES[outcome].padEnd(OUTCOME_WIDTH)} ${check.padEnd(CHECK_WIDTH)} ${detail}`),
    ...(result === null ? [] : ['', 'The result, computed from the entries and the beacon:', ...linesOfResult(result).map((line) => `  ${line}`)]),
    ...(onTheHousesWord.length === 0 ? [] : ['', 'Taken on the house’s word:', ...onTheHousesWord.map((value) => `  ${value}`)]),
    ...['', `round ${round}: ${said}`],
  ];
}

function linesOfResult({ numbers, winners }: RoundResult): string[] {
  const places = winners.map(
    ({ place, index, wallet, prize: { amount, mint } }) => `place ${place}: entry ${index} of ${wallet}, prize ${amount} of ${mint}`,
  );
  return [...(numbers.length > 0 ? [`winning numbers: ${numbers.join(' ')}`] : []), ...(places.length > 0 ? places : ['no entry wins'])];
}
