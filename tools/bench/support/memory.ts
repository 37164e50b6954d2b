import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';

const Targets = z.array(z.object({ webSocketDebuggerUrl: z.string() }));

/** Returns the resident memory of a process, bytes, without kernel memory (for example socket buffers). Linux only. */
export function residentBytes(pid: number): number {
  return 1_024 * Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/**
 * Makes a Node process collect its garbage through the inspector, then returns the resident memory of the process, bytes.
 * @param port the inspector port of the process (`--inspect-port`)
 */
export async function collectedBytes(pid: number, port: number): Promise<number> {
  process.kill(pid, 'SIGUSR1');
  const socket = new WebSocket(await debuggerUrl(port));
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error('cannot connect to the inspector of the measured process'));
  });
  for (let id = 1; id <= 3; id++) {
    const done = new Promise((resolve) => {
      socket.onmessage = resolve;
    });
    socket.send(JSON.stringify({ id, method: 'HeapProfiler.collectGarbage' }));
    await done;
    await sleep(300);
  }
  socket.close();
  return residentBytes(pid);
}

async function debuggerUrl(port: number): Promise<string> {
  for (let tries = 0; ; tries++) {
    try {
      const [target] = Targets.parse(await (await fetch(`http://127.0.0.1:${port}/json/list`)).json());
      if (target) return target.webSocketDebuggerUrl;
    } catch (error) {
      if (tries === 50) throw error;
    }
    await sleep(100);
  }
}
