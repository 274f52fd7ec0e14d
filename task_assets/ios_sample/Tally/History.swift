/// What was counted, oldest first.
struct History {
    private(set) var entries: [Int] = []

    mutating func add(_ value: Int) {
        entries.append(value)
    }

    var total: Int {
        var sum = 0
        for entry in entries {
            sum += entry
        }
        return sum
    }

    var largest: Int {
        var found = 0
        for entry in entries {
            if entry > found {
                found = entry
            }
        }
        return found
    }

    /// Mean of all entries, rounded down; 0 where there are none.
    var mean: Int {
        if entries.isEmpty {
            return 0
        }
        var sum = 0
        for entry in entries {
            sum += entry
        }
        return sum / entries.count
    }

    func summary() -> String {
        "\(entries.count) entries, total \(total), largest \(largest), mean \(mean)"
    }
}
