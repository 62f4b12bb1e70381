// Waking those who wait for something to change.

/** Whoever waits is woken by the next `notify`; one that came before does not count. */
export class Signal {
  #waiters = new Set<() => void>();

  /** Wakes all who wait. */
  notify(): void {
    const waiters = this.#waiters;
    this.#waiters = new Set();
    for (const wake of waiters) wake();
  }

  /** Waits for the next `notify`; false when the time was over first. */
  wait(ms?: number): Promise<boolean> {
    return new Promise((resolve) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
      this.#waiters.add(wake);
      if (ms !== undefined) {
        timer = setTimeout(() => {
          this.#waiters.delete(wake);
          resolve(false);
        }, ms);
      }
    });
  }
}
