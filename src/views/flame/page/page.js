// The HTML page: the flame graph, the table of functions, callers and callees of one function, and filters by thread
// and process. Totals are made here from what each thread spent at each node, so that a filter changes all of them.
(() => {
  const data = JSON.parse(document.getElementById("flame-data").textContent);
  const byId = id => document.getElementById(id);
  const tabs = ["flame", "functions", "sandwich"];
  const parents = parentsOf(data.depth);
  let tree = null;       // of the chosen threads
  let functions = [];    // rows of the table
  let order = { key: "self", down: true };
  let applied = null;    // the filter that `tree` is of

  function parentsOf(depth) {
    const path = [];
    return depth.map((d, i) => {
      path.length = d;
      path.push(i);
      return d ? path[d - 1] : 0;
    });
  }

  function filtered(thread, process) {
    const count = data.depth.length;
    const self = new Array(count).fill(0);
    for (let i = 0; i < data.leafNode.length; ++i) {
      const t = data.leafThread[i];
      if (thread && data.threads[t] !== thread || process && data.processes[t] !== process) continue;
      self[data.leafNode[i]] += data.leafWeight[i];
    }
    const total = self.slice();
    for (let i = count - 1; i > 0; --i) total[parents[i]] += total[i];
    const result = { depth: data.depth, frame: data.frame, self, total };
    if (data.before && !thread && !process) Object.assign(result, { before: data.before, after: data.after, total: data.total, self: data.self });
    return result;
  }

  // A recursive function is counted once a stack.
  function tabulate() {
    const rows = new Map();
    const open = new Map();
    const path = [];
    tree.depth.forEach((depth, i) => {
      while (path.length > depth) {
        const frame = path.pop();
        open.set(frame, open.get(frame) - 1);
      }
      const frame = tree.frame[i];
      path.push(frame);
      if (frame >= 0 && data.kinds[frame] !== 8) {
        let row = rows.get(frame);
        if (!row) rows.set(frame, row = { frame, self: 0, total: 0, before: 0, after: 0 });
        row.self += tree.self[i];
        if (!open.get(frame)) {
          row.total += tree.total[i];
          if (tree.before) {
            row.before += tree.before[i];
            row.after += tree.after[i];
          }
        }
      }
      open.set(frame, (open.get(frame) || 0) + 1);
    });
    functions = [...rows.values()].filter(row => row.total > 0);
  }

  const names = {
    self: row => row.self, total: row => row.total, before: row => row.before, after: row => row.after,
    change: row => row.after - row.before, name: row => data.names[row.frame],
  };

  function drawTable() {
    const match = matcher(byId("find").value);
    const value = names[order.key];
    functions.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      const result = x < y ? -1 : x > y ? 1 : data.names[a.frame] < data.names[b.frame] ? 1 : -1;
      return order.down ? -result : result;
    });
    const columns = tree.before ? ["before", "after", "change", "name"] : ["self", "self %", "total", "total %", "name"];
    const head = byId("head");
    head.replaceChildren(...columns.map(column => {
      const cell = document.createElement("th");
      const key = column.split(" ")[0];
      cell.textContent = column === "name" ? "function" : column + (key === order.key && column === key ? (order.down ? " ▼" : " ▲") : "");
      cell.addEventListener("click", () => {
        order = { key, down: key === order.key ? !order.down : key !== "name" };
        drawTable();
      });
      return cell;
    }));
    const whole = tree.total[0];
    const shown = functions.filter(row => !match || match(data.names[row.frame])).slice(0, 1000);
    byId("body").replaceChildren(...shown.map(row => {
      const line = document.createElement("tr");
      line.tabIndex = 0;
      for (const column of columns) {
        const cell = line.appendChild(document.createElement("td"));
        if (column === "name") {
          cell.textContent = data.names[row.frame] + " ";
          cell.appendChild(document.createElement("small")).textContent = data.modules[row.frame];
        } else if (column.endsWith("%")) cell.textContent = percent(names[column.split(" ")[0]](row), whole);
        else cell.textContent = formatWeight(names[column](row), data.unit);
      }
      const open = () => place.write({ tab: "sandwich", frame: row.frame + 1 });
      line.addEventListener("click", open);
      line.addEventListener("keydown", event => { if (event.key === "Enter") open(); });
      return line;
    }));
    byId("rest").textContent = functions.length > shown.length ? `${shown.length} of ${functions.length} functions` : "";
  }

  // Merges paths into a tree in preorder: add(path of frames, weight), then arrays().
  function merger(root) {
    const top = { frame: root, self: 0, total: 0, children: new Map() };
    return {
      add(path, weight) {
        let node = top;
        node.total += weight;
        for (const frame of path) {
          let child = node.children.get(frame);
          if (!child) node.children.set(frame, child = { frame, self: 0, total: 0, children: new Map() });
          (node = child).total += weight;
        }
        node.self += weight;
      },
      arrays() {
        const out = { depth: [], frame: [], total: [], self: [] };
        const open = [[top, 0]];
        while (open.length) {
          const [node, depth] = open.pop();
          out.depth.push(depth);
          out.frame.push(node.frame);
          out.total.push(node.total);
          out.self.push(node.self);
          const children = [...node.children.values()].sort((a, b) => (data.names[a.frame] < data.names[b.frame] ? 1 : -1));
          for (const child of children) open.push([child, depth + 1]);
        }
        return out;
      },
    };
  }

  // Callers of all outermost occurrences of a function, and what those call.
  function sandwich(wanted) {
    const callers = merger(wanted);
    const callees = merger(wanted);
    const path = [];
    let inside = -1;     // depth of the outermost occurrence we are in
    tree.depth.forEach((depth, i) => {
      path.length = depth;
      path.push(tree.frame[i]);
      if (inside >= depth) inside = -1;
      if (inside < 0 && tree.frame[i] === wanted) {
        inside = depth;
        if (tree.total[i] > 0) callers.add(path.slice(1, depth).reverse(), tree.total[i]);
      }
      if (inside >= 0 && tree.self[i] > 0) callees.add(path.slice(inside + 1), tree.self[i]);
    });
    return [callers.arrays(), callees.arrays()];
  }

  const details = text => { byId("details").textContent = text; };
  const openFrame = frame => { if (frame >= 0) place.write({ tab: "sandwich", frame: frame + 1 }); };
  tree = filtered("", "");
  const flame = new Flame(byId("picture"), data.names, data.kinds, tree, data.unit, {
    inverted: data.inverted, top: 4, bottom: 4, onHover: details, onZoom: i => place.write({ zoom: i }), onOpen: openFrame,
  });
  const halves = ["callers", "callees"].map((id, which) => {
    const half = new Flame(byId(id), data.names, data.kinds, { depth: [0], frame: [-1], total: [0], self: [0] }, data.unit, {
      inverted: which === 1, top: 4, bottom: 4, onHover: details, onZoom: i => half.zoom(i), onOpen: openFrame,
    });
    return half;
  });

  function show() {
    const now = place.read();
    const tab = tabs.includes(now.tab) ? now.tab : "flame";
    for (const name of tabs) {
      byId(name).classList.toggle("shown", name === tab);
      byId("tab-" + name).setAttribute("aria-selected", name === tab);
    }
    const filter = JSON.stringify([byId("thread").value, byId("process").value]);
    if (filter !== applied) {
      applied = filter;
      tree = filtered(byId("thread").value, byId("process").value);
      flame.setTree(tree);
      tabulate();
      byId("chosen").textContent = filter === '["",""]' ? "" : `chosen: ${formatWeight(tree.total[0], data.unit)}, ${percent(tree.total[0], data.total[0])}`;
    }
    if (byId("find").value !== now.search) byId("find").value = now.search;
    if (tab === "flame") {
      flame.zoom(now.zoom);
      flame.search(now.search);
      byId("matched").textContent = now.search
        ? `matched: ${percent(flame.matched(), tree.total[flame.zoomed])}, ${formatWeight(flame.matched(), data.unit)}` : "";
    } else byId("matched").textContent = "";
    if (tab === "functions") drawTable();
    const frame = Number(now.frame) - 1;
    if (tab === "sandwich" && frame >= 0 && frame < data.names.length) {
      byId("of").textContent = data.names[frame];
      sandwich(frame).forEach((part, which) => {
        halves[which].zoomed = 0;
        halves[which].setTree(part);
        halves[which].search(now.search);
      });
    }
  }

  function fill(select, labels, all) {
    const used = new Set(data.leafThread.map(t => labels[t]));
    for (const label of ["", ...[...used].filter(text => text).sort()]) {
      const option = select.appendChild(document.createElement("option"));
      option.value = label;
      option.textContent = label || all;
    }
    select.addEventListener("change", show);
  }
  fill(byId("thread"), data.threads, "all threads");
  fill(byId("process"), data.processes, "all processes");
  for (const name of tabs) byId("tab-" + name).addEventListener("click", () => place.write({ tab: name === "flame" ? "" : name }));
  byId("find").addEventListener("change", () => place.write({ search: byId("find").value }));
  byId("reset").addEventListener("click", () => {
    byId("thread").value = byId("process").value = "";
    place.write({ zoom: 0, search: "" });
    show();
  });
  addEventListener("hashchange", show);
  addEventListener("resize", show);
  addEventListener("keydown", event => {
    if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) return;
    const find = event.key === "/" || ((event.ctrlKey || event.metaKey) && event.key === "f");
    if (!find && (event.ctrlKey || event.metaKey || event.altKey)) return;
    if (find) byId("find").focus();
    else if (event.key === "Escape") place.write({ zoom: 0, search: "" });
    else if (!byId("flame").classList.contains("shown")) return;
    else if (event.key === "Enter" && event.target === document.body) place.write({ zoom: flame.focus });
    else if (event.key === "u") place.write({ zoom: flame.parent[flame.zoomed] });
    else if (event.key.startsWith("Arrow")) flame.move(event.key);
    else return;
    event.preventDefault();
  });
  document.body.classList.add("ready");
  show();
})();
