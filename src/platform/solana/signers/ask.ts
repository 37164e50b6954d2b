import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { CommandSource, UrlSource } from './config.ts';

/** Maximum size of a signer's answer, bytes. */
export const MAX_ANSWER_BYTES = 4_096;

/** The search path of commands. Commands get no other environment variable, because those of this process contain secrets. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The reason why a signer gave no answer. The message contains neither the request, nor the answer, nor the URL, which may contain an API key. */
export class SignerFailed extends Error {
  /** Whether the time limit was reached. */
  readonly isTimeout: boolean;

  constructor(message: string, isTimeout = false) {
    super(message);
    this.isTimeout = isTimeout;
  }
}

/**
 * Sends a request to a signer.
 * @param request one line of JSON
 * @param timeoutMs time limit of the whole answer
 * @returns the text of the answer
 * @throws SignerFailed when the answer is late or too long, or when the signer fails
 */
export async function askSigner(source: CommandSource | UrlSource, request: string, timeoutMs: number): Promise<string> {
  try {
    return await ('command' in source ? askCommand(source, request, timeoutMs) : askUrl(source, request, timeoutMs));
  } catch (error) {
    throw error instanceof SignerFailed ? error : new SignerFailed(`the request failed (${codeOf(error)})`);
  }
}

const late = (timeoutMs: number) => new SignerFailed(`no answer within ${timeoutMs / 1_000} s`, true);

/** Starts the command, without a shell, and writes the request to its standard input. A command that is late, or answers too much, is killed. */
async function askCommand({ command, args }: CommandSource, request: string, timeoutMs: number): Promise<string> {
  // A process group of its own, so that the children of a script can be killed too.
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'], env: { PATH }, cwd: '/', detached: true });
  const ended = Promise.withResolvers<never | undefined>();
  const timer = setTimeout(() => ended.reject(late(timeoutMs)), timeoutMs);
  child.on('error', (error) => ended.reject(new SignerFailed(`the command cannot be run (${codeOf(error)})`)));
  child.on('close', (code, signal) => {
    if (code === 0) ended.resolve(undefined);
    else ended.reject(new SignerFailed(code === null ? `the command was ended by ${signal}` : `the command ended with exit status ${code}`));
  });
  // A command that ends without reading its input is judged by its exit status and its answer.
  child.stdin.on('error', () => undefined);
  child.stdin.end(`${request}\n`);
  try {
    const [answer] = await Promise.all([readText(child.stdout), ended.promise]);
    return answer;
  } finally {
    clearTimeout(timer);
    child.stdout.destroy();
    if (child.exitCode === null && child.signalCode === null) killGroup(child.pid);
  }
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // Every process of the group has ended.
  }
}

/** Posts the request. Redirects are refused, so that the token reaches only the configured host. */
async function askUrl({ url, token }: UrlSource, request: string, timeoutMs: number): Promise<string> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json', ...(token === null ? {} : { Authorization: `Bearer ${token}` }) },
      body: request,
      redirect: 'manual',
      signal,
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new SignerFailed(`status ${response.status}`);
    }
    return await readText(response.body ?? []);
  } catch (error) {
    throw signal.aborted ? late(timeoutMs) : error;
  }
}

/** Returns the code of an error or of its cause, because the messages of errors may contain the URL or the path. */
function codeOf(error: unknown): string {
  for (let one = error; typeof one === 'object' && one !== null; one = 'cause' in one ? one.cause : null) {
    if ('code' in one && typeof one.code === 'string') return one.code;
  }
  return 'unknown error';
}

async function readText(stream: Readable | Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.byteLength;
    if (bytes > MAX_ANSWER_BYTES) throw new SignerFailed(`the answer is longer than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
