/** The part of the JavaScript interface of WebAssembly that replays use. TypeScript declares it only together with the types of browsers. */
declare namespace WebAssembly {
  function validate(bytes: Uint8Array<ArrayBuffer>): boolean;
  class Module {
    constructor(bytes: Uint8Array<ArrayBuffer>);
  }
  class Instance {
    constructor(module: Module);
    readonly exports: Readonly<Record<string, unknown>>;
  }
  class Global {
    value: bigint;
  }
  class RuntimeError extends Error {}
}
