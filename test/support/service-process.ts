import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';

const root = join(import.meta.dirname, '../..');
const LogLine = z.looseObject({ msg: z.string() });
type LogLine = z.output<typeof LogLine>;

/** A process of the service, started with the operator's command. */
export interface ServiceProcess {
  readonly child: ChildProcess;
  /** The log lines so far. */
  readonly log: readonly LogLine[];
  /** Waits for a log line whose message contains the text. @throws when the process ends before it logs the line */
  logged(text: string): Promise<LogLine>;
  /** Returns the status and the body of `/readyz` of the health server. */
  readiness(): Promise<{ status: number; body: unknown }>;
  /** Sends SIGTERM. @returns the exit status */
  stop(): Promise<number | null>;
}

/**
 * Starts a process of the service.
 * @param file path below the root of the project, such as `src/server.ts`
 */
export function startServiceProcess(file: string, env: Readonly<Record<string, string>>): ServiceProcess {
  const child = spawn(process.execPath, [file], {
    cwd: root,
    env: { PATH: process.env.PATH, ...env, HOST: '127.0.0.1', PORT: '0', METRICS_PORT: '0', LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const log: LogLine[] = [];
  const exited = once(child, 'exit');
  const lines = createInterface(child.stdout);
  const ended = once(lines, 'close');
  lines.on('line', (line) => {
    log.push(LogLine.parse(JSON.parse(line)));
    lines.emit('logged');
  });
  const logged = async (text: string): Promise<LogLine> => {
    for (;;) {
      const found = log.find(({ msg }) => msg.includes(text));
      if (found) return found;
      const isEnded = await Promise.race([once(lines, 'logged').then(() => false), ended.then(() => true)]);
      if (isEnded) throw new Error(`${file} ended before it logged: ${text}`);
    }
  };
  return {
    child,
    log,
    logged,
    async readiness() {
      const { port } = await logged('health server is ready');
      const response = await fetch(`http://127.0.0.1:${port}/readyz`);
      return { status: response.status, body: await response.json() };
    },
    async stop() {
      child.kill('SIGTERM');
      const [status] = await exited;
      return status;
    },
  };
}
