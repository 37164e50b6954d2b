import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { output } from '#dev/stack/binaries.ts';
import { lockFolder, lockOwner } from '#dev/stack/folder-lock.ts';
import { makeFolder, temporaryBase } from '#dev/stack/folders.ts';
import { logTail } from '#dev/stack/logs.ts';
import { postgresEnvironment } from '#dev/stack/postgres-cluster.ts';
import { type Supervisor, supervise } from '#dev/stack/supervisor.ts';
import { openTemporaryFolder } from '#dev/stack/temporary.ts';
import { answerRequests, isListening, requestStop, type Servers, startServers, urlsOf } from './servers.ts';

/** Time without a user after which the kept servers stop, ms. */
const IDLE_TIMEOUT_MS = 30 * 60_000;
const START_TIMEOUT_MS = 10_000;

const PREFIX = 'coinop-kept-';
const socketIn = (folder: string): string => join(folder, 'socket');
const hash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8);

/** Returns the beginning of the names of a checkout's folders for kept servers. */
const prefixOf = (checkout: string): string => `${PREFIX}${process.getuid?.() ?? 0}-${hash(checkout)}-`;

/**
 * Returns the folder of the process that keeps the servers. The name contains a hash of the code that starts servers, so that a run with other code
 * or another TEST_REDIS starts other servers.
 */
function keptFolder(checkout: string): string {
  const code = ['stack', 'test'].flatMap((room) => {
    const folder = join(checkout, 'dev', room);
    return readdirSync(folder)
      .filter((file) => file.endsWith('.ts'))
      .sort()
      .map((file) => readFileSync(join(folder, file), 'utf8'));
  });
  return join(temporaryBase(), `${prefixOf(checkout)}${hash(`${process.env.TEST_REDIS} ${code.join()}`)}`);
}

/**
 * Starts the process that keeps the servers, if it does not run.
 * @returns the socket at which the process gives the URLs of the servers
 */
export async function keepServers(checkout: string): Promise<string> {
  const folder = keptFolder(checkout);
  const socket = socketIn(folder);
  if (await isListening(socket)) return socket;
  makeFolder(folder, 0o700);
  const log = join(folder, 'log');
  const logFile = openSync(log, 'a', 0o600);
  // If two runs start a process at the same time, the second process finds the folder locked and ends.
  const child = spawn(process.execPath, [import.meta.filename, folder], { cwd: checkout, detached: true, stdio: ['ignore', logFile, logFile] });
  child.unref();
  closeSync(logFile);
  for (const end = Date.now() + START_TIMEOUT_MS; Date.now() < end; await sleep(20)) if (await isListening(socket)) return socket;
  throw new Error(`the process that keeps the servers did not start; the end of ${log}:\n${logTail(log)}`);
}

/** Stops the kept servers of a checkout. @returns whether there were any */
export async function stopKeptServers(checkout: string): Promise<boolean> {
  const base = temporaryBase();
  const folders = readdirSync(base)
    .filter((name) => name.startsWith(prefixOf(checkout)))
    .map((name) => join(base, name))
    .filter((folder) => existsSync(folder) && lockOwner(folder) !== undefined);
  await Promise.all(folders.map((folder) => requestStop(socketIn(folder))));
  return folders.length > 0;
}

/** Keeps the servers until `stop` is requested or nobody has used them for a while. @returns the exit code */
async function keep(stack: Supervisor, folder: string): Promise<number> {
  await lockFolder(folder);
  stack.onStop(() => rmSync(folder, { recursive: true, force: true }));
  // The socket of a process that was killed.
  rmSync(socketIn(folder), { force: true });
  const temporary = await openTemporaryFolder('coinop-test-');
  stack.onStop(() => temporary.remove());

  let users = 0;
  let lastUse = Date.now();
  let running: Promise<Servers> | undefined;
  let ready: Promise<Servers> | undefined;
  const begin = async (): Promise<Servers> => {
    if (running) await removeRemains(await running);
    running ??= startServers(stack, temporary.path);
    return running;
  };
  const idle = setInterval(() => {
    if (users === 0 && Date.now() - lastUse > IDLE_TIMEOUT_MS) stack.end(0, 'No test used the servers for 30 minutes.');
  }, 60_000);
  stack.onStop(() => clearInterval(idle));
  const server = await answerRequests(socketIn(folder), {
    async servers() {
      if (users === 0 || !ready) {
        ready = begin();
        ready.catch(() => stack.end(1, 'The servers did not start.'));
      }
      return urlsOf(await ready);
    },
    stop: () => stack.end(0, 'Stopping.'),
    usersChanged(count) {
      users = count;
      lastUse = Date.now();
    },
  });
  stack.onStop(() => void server.close());
  return stack.ended;
}

/** Deletes the databases and keys that killed runs left. Precondition: no run uses the servers. */
async function removeRemains({ postgres, redis }: Servers): Promise<void> {
  const psql = join(postgres.binaries, 'psql');
  const query = (sql: string) =>
    output(psql, ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-c', sql, postgres.url], { cwd: '/', env: postgresEnvironment() });
  const databases = query(String.raw`select datname from pg_database where datname like 'test\_%'`)
    .split('\n')
    .filter((name) => name !== '');
  for (const name of databases) query(`drop database "${name}" with (force)`);
  await redis.clear();
}

if (import.meta.main) {
  const print = (line: string): void => console.error(line);
  process.exit(await supervise((stack) => keep(stack, process.argv[2] ?? ''), { print, interruptedCode: () => 0 }));
}
