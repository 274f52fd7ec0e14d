/// A number that goes up and down, never below zero.
struct Counter {
    private(set) var value = 0
    var step = 1

    mutating func increase() {
        value += step
    }

    mutating func decrease() {
        value = max(0, value - step)
    }

    mutating func reset() {
        value = 0
    }
}
