import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs, parseEnv } from 'node:util';
import { inspectConfig, SETTING_NAMES } from '#config';
import { openContext } from '#context';
import type { ProcessType } from '#doctor/check.ts';
import { examine } from '#doctor/examine.ts';
import { findMistyped } from '#doctor/mistyped.ts';
import { openLog } from '#platform/observability/log.ts';
import { exitStatus, jsonOf, textOf } from './report.ts';

const USAGE = `usage: bin/doctor [--env FILE] [--for api|worker] [--strict] [--json]

Checks the settings as an API process or a worker reads them, and everything that they lead to: PostgreSQL and its migrations, Redis, storage, RPC
nodes, programs, mints, keys, balances, the beacon and other services. Also finds variables whose names are almost those of settings. Changes
nothing and prints no secret. Takes at most 15 seconds.
Exit status: 0 when nothing is wrong, 1 when something is wrong, 2 when the checks could not run.

--env FILE   reads the settings from this file (NAME=value lines) instead of the environment
--for        the type of the process whose settings these are; without it, worker when one of the signing keys is set, otherwise api
--strict     makes warnings count as wrong
--json       prints one JSON object`;

/** Time within which the connections are closed, ms. A server that does not answer must not delay the end of the command. */
const CLOSE_MS = 1_000;

interface CommandLine {
  readonly env: string | undefined;
  readonly process: ProcessType | undefined;
  readonly strict: boolean;
  readonly json: boolean;
}

/** Parses the command line; null for `--help`. @throws when an option or its value is not valid */
function parseCommandLine(): CommandLine | null {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const { values } = parseArgs({ options: { env: text, for: text, strict: flag, json: flag, help: flag } });
  if (values.help) return null;
  const process = values.for;
  if (process !== undefined && process !== 'api' && process !== 'worker') throw new Error('--for must be api or worker');
  return { env: values.env, process, strict: values.strict ?? false, json: values.json ?? false };
}

async function main(): Promise<number> {
  let commandLine: CommandLine | null;
  let env: NodeJS.Dict<string>;
  let settings: ReturnType<typeof inspectConfig>;
  try {
    commandLine = parseCommandLine();
    env = commandLine?.env === undefined ? process.env : parseEnv(readFileSync(commandLine.env, 'utf8'));
    settings = inspectConfig(env);
  } catch (error) {
    process.stderr.write(`${Error.isError(error) ? error.message : error}\n\n${USAGE}\n`);
    return 2;
  }
  if (commandLine === null) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  const { config, problems } = settings;
  const isWorker = Object.values(config.chain.secrets).some((secret) => secret !== null);
  const processType = commandLine.process ?? (isWorker ? 'worker' : 'api');
  // The findings say what fails, so the log of the connections would only repeat them.
  const app = await openContext(config, 'doctor', { log: openLog({ ...config, logLevel: 'silent' }, 'doctor') });
  const mistyped = findMistyped(Object.keys(env), SETTING_NAMES).map((finding) => ({ check: 'settings', ...finding }));
  const results = [...mistyped, ...(await examine(app, processType, { problems }))];
  process.stdout.write(commandLine.json ? `${JSON.stringify(jsonOf(results, processType, commandLine.strict))}\n` : textOf(results, processType));
  await Promise.race([app.close().catch(() => undefined), sleep(CLOSE_MS)]);
  return exitStatus(results, commandLine.strict);
}

// Ends the process although connections may still be open.
process.exit(await main());
