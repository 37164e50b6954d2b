import { startApiProcess } from './api-process.ts';
import type { ProcessExit } from './child.ts';
import { type ProcessOptions, type ServiceProcess, startProcess } from './processes.ts';

/** An API or worker process that tests kill and start again. */
export interface RestartableProcess {
  readonly name: string;
  /** Process id; 0 while the process is not running. */
  readonly pid: number;
  /** Ends the process by SIGKILL and waits for its exit. */
  kill(): Promise<void>;
  /**
   * Stops the process gracefully and waits for its exit.
   * @returns the exit code or signal; null if the process was not running
   */
  stop(): Promise<ProcessExit | null>;
  /** Starts the process with the same settings. Resolves when it is ready. */
  start(): Promise<void>;
}

/** A handle for one process. The process can be killed and started again under the same name. */
export class ProcessSlot implements RestartableProcess {
  readonly name: string;
  protected readonly options: ProcessOptions;
  protected process: ServiceProcess | undefined;

  constructor(options: ProcessOptions) {
    this.name = options.name;
    this.options = options;
  }

  get pid(): number {
    return this.process?.isRunning ? this.process.pid : 0;
  }

  async start(): Promise<void> {
    if (this.process?.isRunning) throw new Error(`${this.name} is running already`);
    await this.begin();
  }

  async kill(): Promise<void> {
    if (!this.process?.isRunning) return;
    process.kill(this.process.pid, 'SIGKILL');
    await this.process.exited;
  }

  async stop(): Promise<ProcessExit | null> {
    const running = this.process;
    if (!running?.isRunning) return null;
    await running.stop();
    return await running.exited;
  }

  protected async begin(): Promise<void> {
    this.process = startProcess(this.options);
  }
}

/** A handle for one API process. The first start binds any free port; later starts bind the same port again. */
export class ApiSlot extends ProcessSlot {
  #port = 0;

  /** The port; 0 before the first start. */
  get port(): number {
    return this.#port;
  }

  protected override async begin(): Promise<void> {
    const onStart = (started: ServiceProcess) => {
      this.process = started;
    };
    const { port } = await startApiProcess(this.options, { port: this.#port, onStart });
    this.#port = port;
  }
}
