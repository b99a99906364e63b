/** The old behaviour of W13: a run has an id and a definition. It carries no input, and nobody can find or steer it. */
export class BareEnqueue {
  private readonly instances = new Map<string, { readonly definition: string }>();

  enqueue(id: string, definition: string): void {
    if (this.instances.has(id)) throw new Error(`duplicate instance ${id}`);
    this.instances.set(id, { definition });
  }

  /** Events of a run that has none yet. */
  load(id: string): readonly object[] {
    if (!this.instances.has(id)) throw new Error(`there is no instance ${id}`);
    return [];
  }
}
